import { UsageError } from '../../errors.ts'
import { parseForm } from '../../http/url.ts'
import { filterNames, parseFilter, repeatableFilterNames } from '../../resources/filter-query.ts'
import { parseQuery } from '../../resources/query.ts'

/** Parameters of a query, decoded. */
export type WherePairs = readonly (readonly [name: string, value: string])[]

const names = ['q', ...filterNames] as const

/**
 * Reads the value of `--where`: a query of the list, with filters.
 *
 * @param others Names of more parameters that it may have; `all` only alone.
 * @throws {UsageError} naming each parameter that is unknown or not valid.
 */
export function parseWhere(given: string, others: readonly ('all' | 'sort')[]): WherePairs {
  const refused = (why: string) => new UsageError(`Cannot use --where ${JSON.stringify(given)}: ${why}`)
  const text = given.replace(/^\?/, '')
  const pairs = parseForm(text)
  if (pairs === undefined) throw refused('it is not percent-encoded UTF-8; write a "%" as %25')
  if (pairs.length === 0) throw refused('it is empty; write filters, such as label=env=prod&prefix=db-')
  const query = parseQuery(text, [...names, ...others], repeatableFilterNames)
  const filter = parseFilter(query)
  const { values, faults } = query
  if (values.all !== undefined && values.all !== '1') faults.push({ field: 'all', detail: 'must be 1' })
  if (values.all !== undefined && filter !== undefined)
    faults.push({ field: 'all', detail: 'must not be given together with a filter' })
  if (faults.length === 0) return pairs
  throw refused(faults.map(({ field, detail }) => `${field} ${detail}`).join('; '))
}
