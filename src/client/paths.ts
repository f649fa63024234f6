const LIST = '/configurations/'

/** What a list or a stream of events keeps, and in which order; a list is repeated in the query. */
export type QueryValues = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The path of the list of records. */
export function listPath(values: QueryValues = {}): string {
  return LIST + queryOf(values)
}

/** The path of the record with a name. */
export function recordPath(name: string): string {
  return LIST + encodeURIComponent(name)
}

/** With its question mark; '' without values. */
export function queryOf(values: QueryValues): string {
  const pairs = Object.entries(values).flatMap(([key, value = []]) =>
    [value].flat().map((each) => `${key}=${encodeURIComponent(each)}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
