/** A question that many ask at once. Calls share one that has not been sent yet, never one that has: its answer may be old. */
export class SharedQuestion<Answer> {
  readonly #send: () => Promise<Answer>
  #asking: Promise<Answer> | undefined
  /** Waits until the first is answered. */
  #askingNext: Promise<Answer> | undefined

  constructor(send: () => Promise<Answer>) {
    this.#send = send
  }

  ask(): Promise<Answer> {
    if (this.#asking === undefined) {
      this.#asking = this.#send().finally(() => {
        this.#asking = undefined
      })
      return this.#asking
    }
    this.#askingNext ??= this.#asking
      .catch(() => {})
      .then(() => {
        this.#askingNext = undefined
        return this.ask()
      })
    return this.#askingNext
  }
}
