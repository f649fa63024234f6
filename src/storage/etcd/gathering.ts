import { BATCH_CHANGES_MAX, GATHERING_MS_MAX, GATHERING_PAUSE_MS } from '../../limits.ts'

/**
 * Says for how long a batch waits for more changes. Callers whose changes have just been made send their next ones soon.
 * Without a wait, the first of them would go alone, and all others wait for its batch.
 */
export class Gathering {
  /** How many callers there may be. */
  #expected = 0
  /** When the wait ends, by the clock of the caller, in milliseconds. */
  #until = Number.NEGATIVE_INFINITY
  #look = () => {}

  /**
   * Call it when a batch has ended.
   *
   * @param callers How many changes it had, and how many wait.
   * @param begin When it was sent, in milliseconds, as `end`.
   */
  ended(callers: number, begin: number, end: number): void {
    this.#expected = Math.min(callers, BATCH_CHANGES_MAX)
    this.#until = end + Math.min(end - begin, GATHERING_MS_MAX)
  }

  /** Call it when a change has come. */
  came(): void {
    this.#look()
  }

  /**
   * Resolves when a change of each caller waits, no more come for GATHERING_PAUSE_MS, or the wait has taken as long as the
   * last batch.
   */
  async complete(waiting: () => number, now: () => number): Promise<void> {
    const isOver = () => waiting() >= this.#expected || now() >= this.#until
    if (isOver()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    let timer = setTimeout(resolve, GATHERING_PAUSE_MS)
    this.#look = () => {
      clearTimeout(timer)
      if (isOver()) resolve()
      else timer = setTimeout(resolve, GATHERING_PAUSE_MS)
    }
    await promise
    clearTimeout(timer)
    this.#look = () => {}
  }
}
