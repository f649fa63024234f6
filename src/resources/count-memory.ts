import { SEARCH_COUNTS_MAX } from '../limits.ts'

/**
 * How many records the latest searches found, for as long as no record changes: a 304 says so without a search, and the
 * next page of a search does not look beyond its own end.
 */
export class CountMemory {
  readonly #counts = new Map<string, number>()
  /** The revision that all of them are of. */
  #revision = 0

  find(search: string, revision: number): number | undefined {
    return revision === this.#revision ? this.#counts.get(search) : undefined
  }

  /** Forgets the counts of another revision. */
  add(search: string, revision: number, count: number): void {
    if (revision !== this.#revision) this.#counts.clear()
    this.#revision = revision
    this.#counts.delete(search)
    this.#counts.set(search, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > SEARCH_COUNTS_MAX && oldest !== undefined) this.#counts.delete(oldest)
  }
}
