import { SEARCH_COUNTS_MAX } from '../limits.ts'

/**
 * How many records the latest searches found, for as long as no record changes: a 304 says so without a search, and the
 * next page of a search does not look beyond its own end.
 */
export class CountMemory {
  readonly #counts = new Map<string, number>()
  /** The tag of the records that all of them are of. */
  #tag = ''

  find(search: string, tag: string): number | undefined {
    return tag === this.#tag ? this.#counts.get(search) : undefined
  }

  /** Forgets the counts of another tag. */
  add(search: string, tag: string, count: number): void {
    if (tag !== this.#tag) this.#counts.clear()
    this.#tag = tag
    this.#counts.delete(search)
    this.#counts.set(search, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > SEARCH_COUNTS_MAX && oldest !== undefined) this.#counts.delete(oldest)
  }
}
