/** Ranges of listed changes, with gaps between them, of which a history keeps track. */
export const LISTED_RANGES_MAX = 1_000

/** Changes that are all listed: those after one revision, up to another. */
interface RevisionRange {
  after: number
  upTo: number
  /** RFC 3339. The change `after`, and all before it, were made then or earlier. */
  time: string
}

/** Which changes a trail lists, as ranges without a gap. Forgets the lowest beyond LISTED_RANGES_MAX. */
export class ListedRanges {
  /** Rising; no two touch each other. */
  readonly #ranges: RevisionRange[] = []

  /**
   * Adds a change that follows a known one, or is known.
   *
   * @returns False if it is neither: then `add` it, with its time.
   */
  extend(revision: number): boolean {
    const at = this.#firstUpTo(revision - 1)
    const range = this.#ranges[at]
    if (range === undefined || range.after >= revision) return false
    if (range.upTo >= revision) return true
    const next = this.#ranges[at + 1]
    range.upTo = revision
    if (next !== undefined && next.after <= revision) {
      range.upTo = next.upTo
      this.#ranges.splice(at + 1, 1)
    }
    return true
  }

  /**
   * Adds a range; an empty one, with `upTo` like `after`, only adds a time.
   *
   * @param time When the change `after` had been made.
   */
  add(after: number, upTo: number, time: string): void {
    const at = this.#firstUpTo(after)
    const added = { after, upTo, time }
    let end = at
    for (let other = this.#ranges[end]; other !== undefined && other.after <= upTo; ) {
      if (other.after < added.after || (other.after === added.after && other.time < added.time)) {
        added.after = other.after
        added.time = other.time
      }
      added.upTo = Math.max(added.upTo, other.upTo)
      end += 1
      other = this.#ranges[end]
    }
    this.#ranges.splice(at, end - at, added)
    if (this.#ranges.length > LISTED_RANGES_MAX) this.#ranges.shift()
  }

  /** The range that ends with this revision or later, and begins before or with it. */
  find(revision: number): Readonly<RevisionRange> | undefined {
    const range = this.#ranges[this.#firstUpTo(revision)]
    return range !== undefined && range.after <= revision ? range : undefined
  }

  /** Index of the first range that goes up to the revision or further. */
  #firstUpTo(revision: number): number {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ranges[middle]?.upTo ?? 0) < revision) low = middle + 1
      else high = middle
    }
    return low
  }
}
