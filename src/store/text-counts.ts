import type { LongWork } from '../scheduler.ts'
import { hashOfText, TEXT_HASHES } from '../text-hash.ts'
import { inSteps } from './slices.ts'

/** Estimated memory of a text that is counted: its entry in a Map that has just grown, and a text of its own. */
export const COUNTED_TEXT_BYTES = 96
/** A Map copies itself in one step when it grows, so many small ones are used for a group. */
const MAP_TEXTS = 8_192
const MAPS_MAX = 64

/**
 * Counts how often texts occur, in groups, and holds at most a given number of different ones: when there are more, only
 * those whose hash is in a range, which it halves as often as needed. Who counts all of it again for each range after it has
 * counted every text, however many there are.
 */
export class TextCounts {
  readonly #max: number
  readonly #from: number
  #to = TEXT_HASHES
  readonly #mapsOfGroup: number
  readonly #maps: (Map<string, number> | undefined)[] = []
  #size = 0

  /** @param max Different texts. @param from The lowest hash that counts. */
  constructor(max: number, from = 0) {
    this.#max = max
    this.#from = from
    this.#mapsOfGroup = Math.max(1, Math.min(MAPS_MAX, Math.ceil(max / MAP_TEXTS)))
  }

  /** Where the next range begins: TEXT_HASHES if this is the last one. */
  get to(): number {
    return this.#to
  }

  /** Counts a text so many times. */
  add(group: number, text: string, times: number): void {
    const hash = hashOfText(text)
    if (hash < this.#from || hash >= this.#to) return
    const at = group * this.#mapsOfGroup + (hash % this.#mapsOfGroup)
    const map = this.#maps[at] ?? new Map<string, number>()
    this.#maps[at] = map
    const count = map.get(text) ?? 0
    if (count === 0) this.#size += 1
    map.set(text, count + times)
  }

  /** Whether there are too many: then call `shrink`. */
  get isTooLarge(): boolean {
    return this.#size > this.#max
  }

  /** Forgets texts, and from now on counts those in a smaller range. */
  *shrink(): LongWork<void> {
    while (this.isTooLarge && this.#to - this.#from > 1) {
      this.#to = this.#from + Math.ceil((this.#to - this.#from) / 2)
      for (const map of this.#maps)
        yield* inSteps(map?.keys() ?? [], (text) => {
          if (hashOfText(text) < this.#to) return
          map?.delete(text)
          this.#size -= 1
        })
    }
  }

  /** How many texts of a group there are in the range. */
  sizeOf(group: number): number {
    return this.#mapsOf(group).reduce((sum, { size }) => sum + size, 0)
  }

  *entriesOf(group: number): Iterable<readonly [text: string, count: number]> {
    for (const map of this.#mapsOf(group)) yield* map
  }

  #mapsOf(group: number): Map<string, number>[] {
    const first = group * this.#mapsOfGroup
    return this.#maps.slice(first, first + this.#mapsOfGroup).filter((map) => map !== undefined)
  }
}
