import { type Api, tagIn } from './api.ts'
import { type Configuration, configurationsIn } from './configuration.ts'
import { queryOf, type Search } from './selection.ts'

/** If there are more, only their number is read, and a change of them cannot be undone. */
export const KEPT_RECORDS_MAX = 10_000

/** What a search keeps at one moment. */
export interface Counted {
  readonly count: number
  /** The tag of the list at that moment, for `If-Match`. */
  readonly tag: string
  /** Undefined if they are more than KEPT_RECORDS_MAX. */
  readonly records: readonly Configuration[] | undefined
}

/**
 * Counts records, and reads them if they are not too many.
 *
 * @param expected How many they may be.
 * @throws As `Api.call`.
 */
export async function countRecords(api: Api, search: Search, expected: number): Promise<Counted> {
  const path = `configurations/?${queryOf(search)}`
  if (expected > KEPT_RECORDS_MAX) {
    const answer = await api.call(`${path}&page=0&per_page=1`)
    const count = Number(answer.headers.get('X-Total-Count'))
    if (count > KEPT_RECORDS_MAX) return { count, tag: tagIn(answer), records: undefined }
  }
  const answer = await api.call(path)
  const records = configurationsIn(answer.text)
  return { count: records.length, tag: tagIn(answer), records }
}

/** Whether both times the same records were there, with the same values, as far as they were read. */
export function isSameCount({ records }: Counted, after: Counted): boolean {
  return (
    records !== undefined &&
    after.records !== undefined &&
    JSON.stringify(records) === JSON.stringify(after.records)
  )
}
