import { queryOf } from '../client/endpoint.ts'
import type { Options } from '../command-line/options.ts'
import { InvalidInputError, UsageError } from '../errors.ts'
import { parseFilterQuery } from '../resources/filter-query.ts'
import { escapeHidden } from '../text.ts'
import { type FilterOptions, filterValues } from './remote/record-fields.ts'
import { parseWhere } from './remote/where.ts'

/** The filters of the flags as the query of a list. @throws {UsageError} as `parseWhere`. */
export function exportedQuery({ where, ...options }: FilterOptions & Pick<Options, 'where'>): string {
  return queryOf(filterValues(options), where === undefined ? [] : parseWhere(where, [])).slice(1)
}

/**
 * The same filters everywhere, so what is wrong with them is found before anybody is asked.
 *
 * @throws {UsageError}
 */
export function checkExportFilters(query: string): void {
  try {
    parseFilterQuery(query)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    const lines = error.faults.map(
      ({ field, detail }) => `\n  ${escapeHidden(field)} ${escapeHidden(detail)}`,
    )
    throw new UsageError(`The filters are not valid${lines.join('')}`, { cause: error })
  }
}
