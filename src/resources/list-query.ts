import { linkHeader, type Page } from '../http/url.ts'
import { PAGE_RECORDS_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import type { Sort } from '../store/configuration-index.ts'
import { fieldNames } from '../store/fields.ts'
import type { Filter } from '../store/record-filter.ts'
import { filterNames, formatFilter, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { filterParameters, searchParameter } from './parameters.ts'
import { checkQuery, parseQuery, type Query } from './query.ts'

/** What a list is asked for. */
export interface ListQuery {
  /** Undefined for all records. */
  readonly filter: Filter | undefined
  readonly sort: Sort | undefined
  /** Undefined for all at once. */
  readonly page: Page | undefined
}

/** What the OpenAPI document says of them. */
export const listParameters: readonly Parameter[] = [
  searchParameter,
  ...filterParameters,
  {
    name: 'sort',
    in: 'query',
    description: 'The order; descending with `-`. By `id` without it.',
    schema: { type: 'string', enum: fieldNames.flatMap((field) => [field, `-${field}`]) },
  },
  {
    name: 'page',
    in: 'query',
    description: 'From 0; only together with `per_page`. Digits without a leading zero.',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
  {
    name: 'per_page',
    in: 'query',
    description: 'Records on a page; only together with `page`. Digits without a leading zero.',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_RECORDS_MAX },
  },
]

const parameters = ['q', ...filterNames, 'sort', 'page', 'per_page'] as const
type ParsedQuery = Query<(typeof parameters)[number], (typeof repeatableFilterNames)[number]>

/** @throws {InvalidInputError} naming every faulty parameter. */
export function parseListQuery(text: string): ListQuery {
  const query: ParsedQuery = parseQuery(text, parameters, repeatableFilterNames)
  const filter = parseFilter(query)
  const { values, faults } = query
  const { sort } = values
  if (sort !== undefined && !isSort(sort)) {
    faults.push({
      field: 'sort',
      detail: `must be one of ${fieldNames.join(', ')}, with "-" before it for descending order`,
    })
  }
  const page = parseCount(query, 'page', 0, Number.MAX_SAFE_INTEGER)
  const perPage = parseCount(query, 'per_page', 1, PAGE_RECORDS_MAX)
  if ((values.page === undefined) !== (values.per_page === undefined)) {
    const [field, other] = values.page === undefined ? ['page', 'per_page'] : ['per_page', 'page']
    faults.push({ field, detail: `must be given together with ${other}` })
  }
  checkQuery(query)
  return {
    filter,
    sort: isSort(sort) ? sort : undefined,
    page: page !== undefined && perPage !== undefined ? { page, perPage } : undefined,
  }
}

/**
 * The header `Link` of a page, whose links keep the other parameters.
 *
 * @param path The path of the list.
 * @param total Records on all pages.
 */
export function pageLinks(path: string, { filter, sort }: ListQuery, page: Page, total: number): string {
  return linkHeader(
    `${path}?${formatFilter(filter)}${sort === undefined ? '' : `sort=${sort}&`}`,
    page,
    total,
  )
}

/** A decimal integer without sign or leading zero; undefined when absent, or when faulty, which adds a fault. */
export function parseCount<Name extends string>(
  { values, faults }: Query<Name>,
  field: Name,
  min: number,
  max: number,
): number | undefined {
  const text = values[field]
  if (text === undefined) return undefined
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  faults.push({ field, detail: `must be a plain decimal integer from ${min} to ${max}` })
  return undefined
}

function isSort(text: string | undefined): text is Sort {
  return text !== undefined && (fieldNames as readonly string[]).includes(text.replace(/^-/, ''))
}
