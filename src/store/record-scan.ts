import type { LongWork } from '../scheduler.ts'
import type { Configuration } from './configuration.ts'
import type { Matcher } from './record-filter.ts'

/** A part of the records that are kept. */
export interface Part {
  readonly offset: number
  readonly limit: number
}

/**
 * Looks at all records in slices.
 *
 * @param leaves Frozen records, in short arrays: each is one slice.
 * @param total How many records are kept, if that is known: then it stops at the end of the part.
 * @returns How many records are kept, and those of the part.
 */
export function* scanRecords(
  leaves: Iterable<readonly Configuration[]>,
  matches: Matcher,
  { offset, limit }: Part,
  total?: number,
): LongWork<{ readonly count: number; readonly records: Configuration[] }> {
  const records: Configuration[] = []
  let count = 0
  for (const leaf of leaves) {
    for (const record of leaf) {
      if (!matches(record)) continue
      if (count >= offset && records.length < limit) records.push(record)
      count += 1
    }
    if (total !== undefined && records.length === limit) break
    yield
  }
  return { count: total ?? count, records }
}
