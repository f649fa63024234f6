import type { LongWork } from '../scheduler.ts'
import type { Difference } from './changed-leaves.ts'
import type { Configuration } from './configuration.ts'
import { sortInSlices } from './slices.ts'
import { SortedIndex } from './sorted-index.ts'

/** An order is dropped if nobody uses it for so long while records change. */
export const ORDER_UNUSED_MS_MAX = 10 * 60_000

type SortedRecords = SortedIndex<Configuration>

/** The records that a large change takes away or replaces, and those that are there after it; in any order. */
export type RecordDifference = Difference<Configuration>

interface OrderChange {
  readonly old: Configuration | undefined
  readonly record: Configuration | undefined
}

/** The records in one order: a cache, which is made in slices and then kept up to date by each change. */
export class RecordOrder {
  readonly #compare: (a: Configuration, b: Configuration) => number
  #records: SortedRecords | undefined
  /** Since `make` began. */
  #missed: (OrderChange | RecordDifference)[] = []
  /** When the first change after the last use came. */
  #unusedSinceMs: number | undefined

  constructor(compare: (a: Configuration, b: Configuration) => number) {
    this.#compare = compare
  }

  get isReady(): boolean {
    return this.#records !== undefined
  }

  /** For a reader. @throws {Error} if it is not ready. */
  use(): SortedRecords {
    if (this.#records === undefined) throw new Error('Cannot read an order that is still being made')
    this.#unusedSinceMs = undefined
    return this.#records
  }

  /**
   * True if no reader came for ORDER_UNUSED_MS_MAX after the first change since the last read. Called with each change:
   * while none changes, a remembered page may serve readers.
   */
  isUnused(nowMs: number): boolean {
    this.#unusedSinceMs ??= nowMs
    return this.isReady && nowMs - this.#unusedSinceMs > ORDER_UNUSED_MS_MAX
  }

  /** Makes the order. Changes that come meanwhile are applied at its end. @param records All, as they are now. */
  *make(records: Iterable<Configuration>): LongWork<void> {
    const added = yield* sortInSlices(records, this.#compare)
    let made = yield* new SortedIndex(this.#compare).changedBy({ gone: new Set(), added })
    while (this.#missed.length > 0) {
      for (const missed of this.#missed.splice(0)) {
        if ('gone' in missed) made = yield* this.#changed(made, missed)
        else change(made, missed)
        yield
      }
    }
    this.#records = made
  }

  /** Applies one change: a record as it was, and as it is. */
  change(old: Configuration | undefined, record: Configuration | undefined): void {
    if (this.#records === undefined) this.#missed.push({ old, record })
    else change(this.#records, { old, record })
  }

  /** The order after a large change, for `replaceBy`; undefined if it is not ready. */
  *changedBy(difference: RecordDifference): LongWork<SortedRecords | undefined> {
    return this.#records && (yield* this.#changed(this.#records, difference))
  }

  /** Applies a large change. @param changed As `changedBy` gave it. */
  replaceBy(changed: SortedRecords | undefined, difference: RecordDifference): void {
    if (this.#records === undefined) this.#missed.push(difference)
    else this.#records = changed
  }

  *#changed(records: SortedRecords, { gone, added }: RecordDifference): LongWork<SortedRecords> {
    return yield* records.changedBy({ gone, added: yield* sortInSlices(added, this.#compare) })
  }
}

function change(records: SortedRecords, { old, record }: OrderChange) {
  if (old === undefined) {
    if (record !== undefined) records.insert(record)
  } else if (record === undefined) records.remove(old)
  else records.replace(old, record)
}
