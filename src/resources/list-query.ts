import { linkHeader, type Page } from '../http/pagination.ts'
import { FILTER_CHARACTERS_MAX, PAGE_RECORDS_MAX } from '../limits.ts'
import { type Sort, sortFields } from '../store/configuration-index.ts'
import { recordFields } from '../store/fields.ts'
import type { Filter } from '../store/record-filter.ts'
import { isLongerThan } from '../text.ts'
import { checkQuery, parseQuery, type Query } from './query.ts'

/** What a list is asked for. */
export interface ListQuery {
  /** Undefined for all records. */
  readonly filter: Filter | undefined
  readonly sort: Sort | undefined
  /** Undefined for all at once. */
  readonly page: Page | undefined
}

const equalities = recordFields.filter(({ isSortable }) => isSortable)
/** The parameters that filter, in the order in which links have them. */
const filterNames = ['q', 'prefix', ...sortFields] as const
type FilterName = (typeof filterNames)[number]
const parameters = [...filterNames, 'sort', 'page', 'per_page'] as const
type ParsedQuery = Query<(typeof parameters)[number]>

/** @throws {InvalidInputError} naming every faulty parameter. */
export function parseListQuery(text: string): ListQuery {
  const query: ParsedQuery = parseQuery(text, parameters)
  const filter = parseFilter(query)
  const { values, faults } = query
  const { sort } = values
  if (sort !== undefined && !isSort(sort)) {
    faults.push({
      field: 'sort',
      detail: `must be one of ${sortFields.join(', ')}, with "-" before it for falling order`,
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
 * @param path Of the list.
 * @param total Records on all pages.
 */
export function pageLinks(path: string, { filter, sort }: ListQuery, page: Page, total: number): string {
  const kept = filterNames.flatMap((name) => {
    const value = filter?.[name]
    return value === undefined ? [] : `${name}=${encodeURIComponent(value)}&`
  })
  return linkHeader(`${path}?${kept.join('')}${sort === undefined ? '' : `sort=${sort}&`}`, page, total)
}

/** Undefined if no filter is given. Adds a fault for each one that is not valid. */
function parseFilter({ values, faults }: ParsedQuery): Filter | undefined {
  const filter: Partial<Record<FilterName, string | number>> = {}
  for (const name of filterNames) {
    const text = values[name]
    if (text === undefined) continue
    const field = equalities.find((one) => one.name === name)
    const value = field === undefined ? text : field.parse(text)
    const detail = typeof value === 'string' ? checkLength(value) : field?.check(value)
    if (detail !== undefined) faults.push({ field: name, detail })
    else if (field?.isStored(value) === false) faults.push({ field: name, detail: NOT_DECIMAL })
    else filter[name] = value as string | number
  }
  return Object.keys(filter).length === 0 ? undefined : (filter as Filter)
}

const NOT_DECIMAL = 'must be a plain decimal integer'

/** Any other text is looked for: an old record may have what a new one may not. */
function checkLength(text: string): string | undefined {
  if (text === '') return 'must not be empty'
  if (isLongerThan(text, FILTER_CHARACTERS_MAX))
    return `must not be longer than ${FILTER_CHARACTERS_MAX} characters`
  return undefined
}

/** A decimal integer without sign or leading zero; undefined when absent, or when faulty, which adds a fault. */
function parseCount({ values, faults }: ParsedQuery, field: 'page' | 'per_page', min: number, max: number) {
  const text = values[field]
  if (text === undefined) return undefined
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  faults.push({ field, detail: `must be a plain decimal integer from ${min} to ${max}` })
  return undefined
}

function isSort(text: string | undefined): text is Sort {
  return text !== undefined && (sortFields as readonly string[]).includes(text.replace(/^-/, ''))
}
