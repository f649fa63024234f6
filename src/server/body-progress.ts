/** How the body of a request comes in. */
export class BodyProgress {
  #bytes = 0
  #waitedMs = 0
  #waitsSinceMs: number | undefined

  /** Bytes that have arrived. */
  get bytes(): number {
    return this.#bytes
  }

  /** How long the server has waited for the client, until now; not the time in which it was busy with what had arrived. */
  get waitedMs(): number {
    return this.#waitsSinceMs === undefined
      ? this.#waitedMs
      : this.#waitedMs + performance.now() - this.#waitsSinceMs
  }

  /** The server begins to wait for the client. */
  wait(): void {
    this.#waitsSinceMs ??= performance.now()
  }

  /** The wait is over: more has arrived, or nothing more comes. */
  arrive(bytes: number): void {
    this.#waitedMs = this.waitedMs
    this.#waitsSinceMs = undefined
    this.#bytes += bytes
  }
}
