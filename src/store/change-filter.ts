import type { RecordChange } from './recent-changes.ts'
import { type Filter, matcherOf } from './record-filter.ts'

/** Whether a filter keeps the record as it was before a change, or as it is after it. */
export function changeMatcherOf(filter: Filter): (change: RecordChange) => boolean {
  const matches = matcherOf(filter)
  return ({ before, after }) =>
    (after !== undefined && matches(after)) || (before !== undefined && matches(before))
}
