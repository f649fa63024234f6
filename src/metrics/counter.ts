/** Counts since the start of the process. */
export class Counter {
  #value = 0

  get value(): number {
    return this.#value
  }

  increment(by = 1): void {
    this.#value += by
  }
}
