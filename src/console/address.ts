import { type FieldName, fieldNames } from './configuration.ts'

export const views = ['records', 'exchange', 'operation'] as const
export type View = (typeof views)[number]

/** What the address of the page says: which view, and which part of the list. */
export interface Address {
  readonly view: View
  readonly q: string
  /** A field, perhaps after `-`; empty for the order of ids. */
  readonly sort: string
  /** From 0. */
  readonly page: number
  /** Each `[parameter, value]` as the API takes it: `prefix`, a field, or `label`. */
  readonly filters: readonly (readonly [string, string])[]
}

export const PAGE_RECORDS = 50

export const home: Address = { view: 'records', q: '', sort: 'name', page: 0, filters: [] }

const filterNames: readonly string[] = ['prefix', ...fieldNames, 'label']
const sorts: readonly string[] = fieldNames.flatMap((field) => [field, `-${field}`])

/** What makes no sense is left out: somebody may have typed it. */
export function parseAddress(search: string): Address {
  const parameters = new URLSearchParams(search)
  const view = views.find((each) => each === parameters.get('view')) ?? home.view
  const sort = parameters.get('sort') ?? ''
  const page = Number(parameters.get('page') ?? 1) - 1
  return {
    view,
    q: parameters.get('q') ?? '',
    sort: sorts.includes(sort) ? sort : home.sort,
    page: Number.isSafeInteger(page) && page >= 0 ? page : 0,
    filters: [...parameters].filter(([name, value]) => filterNames.includes(name) && value !== ''),
  }
}

/** The query of the page's address, `?` included; shortest for the usual values. Pages count from 1. */
export function formatAddress({ view, q, sort, page, filters }: Address): string {
  const parameters = new URLSearchParams()
  if (view !== home.view) parameters.set('view', view)
  if (q !== '') parameters.set('q', q)
  for (const [name, value] of filters) parameters.append(name, value)
  if (sort !== home.sort) parameters.set('sort', sort)
  if (page > 0) parameters.set('page', String(page + 1))
  return `?${parameters}`
}

/** The path of one page of the list in the API. */
export function listPath({ q, sort, page, filters }: Address): string {
  const parameters = new URLSearchParams(filters.map(([name, value]) => [name, value]))
  if (q !== '') parameters.set('q', q)
  parameters.set('sort', sort)
  parameters.set('page', String(page))
  parameters.set('per_page', String(PAGE_RECORDS))
  return `configurations/?${parameters}`
}

/** The order after a click on a heading: the other direction if it is that field's already. */
export function nextSort(sort: string, field: FieldName): string {
  return sort === field ? `-${field}` : field
}
