import { LISTED_STRETCHES_MAX } from '../limits.ts'

/** Changes that are all listed: those after one revision, up to another. */
interface Stretch {
  after: number
  upTo: number
  /** RFC 3339. The change `after`, and all before it, were made then or earlier. */
  time: string
}

/** Which changes a trail lists, as stretches without a gap. Forgets the lowest beyond LISTED_STRETCHES_MAX. */
export class ListedStretches {
  /** Rising; no two touch each other. */
  readonly #stretches: Stretch[] = []

  /**
   * Adds a change that follows a known one, or is known.
   *
   * @returns False if it is neither: then `add` it, with its time.
   */
  extend(revision: number): boolean {
    const at = this.#firstUpTo(revision - 1)
    const stretch = this.#stretches[at]
    if (stretch === undefined || stretch.after >= revision) return false
    if (stretch.upTo >= revision) return true
    const next = this.#stretches[at + 1]
    stretch.upTo = revision
    if (next !== undefined && next.after <= revision) {
      stretch.upTo = next.upTo
      this.#stretches.splice(at + 1, 1)
    }
    return true
  }

  /**
   * Adds a stretch; an empty one, with `upTo` like `after`, only tells a time.
   *
   * @param time When the change `after` had been made.
   */
  add(after: number, upTo: number, time: string): void {
    const at = this.#firstUpTo(after)
    const added = { after, upTo, time }
    let end = at
    for (let other = this.#stretches[end]; other !== undefined && other.after <= upTo; ) {
      if (other.after < added.after || (other.after === added.after && other.time < added.time)) {
        added.after = other.after
        added.time = other.time
      }
      added.upTo = Math.max(added.upTo, other.upTo)
      end += 1
      other = this.#stretches[end]
    }
    this.#stretches.splice(at, end - at, added)
    if (this.#stretches.length > LISTED_STRETCHES_MAX) this.#stretches.shift()
  }

  /** The stretch that ends with this revision or later, and begins before or with it. */
  find(revision: number): Readonly<Stretch> | undefined {
    const stretch = this.#stretches[this.#firstUpTo(revision)]
    return stretch !== undefined && stretch.after <= revision ? stretch : undefined
  }

  /** Place of the first stretch that goes up to the revision or further. */
  #firstUpTo(revision: number): number {
    let [low, high] = [0, this.#stretches.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#stretches[middle]?.upTo ?? 0) < revision) low = middle + 1
      else high = middle
    }
    return low
  }
}
