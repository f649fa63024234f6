import { type Configuration, type FieldName, fieldNames } from './configuration.ts'

export const views = ['records', 'exchange', 'activity', 'status', 'accounts'] as const
export type View = (typeof views)[number]

/** Times of the activity: only what was done since so long ago. */
export const sinceChoices = ['1h', '24h', '7d', '30d'] as const

/** What the address of the page says: which view, and which part of the list. */
export interface Address {
  readonly view: View
  /** Name of the record that is shown in place of the list; empty for the list. */
  readonly record: string
  readonly q: string
  /** A field, perhaps after `-`; empty for the order of ids. */
  readonly sort: string
  /** From 0. */
  readonly page: number
  /** Each `[parameter, value]` as the API takes it: `prefix`, a field, `id`, or `label`. */
  readonly filters: readonly (readonly [string, string])[]
  /** The account whose changes the activity shows; empty for all. */
  readonly by: string
  /** One of `sinceChoices`; empty for any time. */
  readonly since: string
  readonly only: 'deleted' | ''
}

export const PAGE_RECORDS = 50

export const home: Address = {
  view: 'records',
  record: '',
  q: '',
  sort: 'name',
  page: 0,
  filters: [],
  by: '',
  since: '',
  only: '',
}

const filterNames: readonly string[] = ['prefix', ...fieldNames, 'id', 'label']
const sorts: readonly string[] = fieldNames.flatMap((field) => [field, `-${field}`])

/** What makes no sense is left out: somebody may have typed it. */
export function parseAddress(search: string): Address {
  const parameters = new URLSearchParams(search)
  const named = parameters.get('view')?.replace(/^operation$/, 'status')
  const view = views.find((each) => each === named) ?? home.view
  const sort = parameters.get('sort') ?? ''
  const page = Number(parameters.get('page') ?? 1) - 1
  return {
    view,
    record: (view === home.view && parameters.get('record')) || '',
    q: parameters.get('q') ?? '',
    sort: sorts.includes(sort) ? sort : home.sort,
    page: Number.isSafeInteger(page) && page >= 0 ? page : 0,
    filters: [...parameters].filter(([name, value]) => filterNames.includes(name) && value !== ''),
    by: parameters.get('by') ?? '',
    since: sinceChoices.find((each) => each === parameters.get('since')) ?? '',
    only: parameters.get('only') === 'deleted' ? 'deleted' : '',
  }
}

/** The query of the page's address, `?` included; shortest for the usual values. Pages count from 1. */
export function formatAddress({ view, record, q, sort, page, filters, ...activity }: Address): string {
  const parameters = new URLSearchParams()
  if (view !== home.view) parameters.set('view', view)
  if (record !== '') parameters.set('record', record)
  if (q !== '') parameters.set('q', q)
  for (const [name, value] of filters) parameters.append(name, value)
  if (sort !== home.sort) parameters.set('sort', sort)
  if (page > 0) parameters.set('page', String(page + 1))
  for (const name of ['by', 'since', 'only'] as const)
    if (activity[name] !== '') parameters.set(name, activity[name])
  return `?${parameters}`
}

/** What keeps records out of the list, as the API takes it. */
export function filterParameters({ q, filters }: Pick<Address, 'q' | 'filters'>): URLSearchParams {
  const parameters = new URLSearchParams(filters.map(([name, value]) => [name, value]))
  if (q !== '') parameters.set('q', q)
  return parameters
}

/** The path of one page of the list in the API. */
export function listPath({ sort, page, ...kept }: Address): string {
  const parameters = filterParameters(kept)
  parameters.set('sort', sort)
  parameters.set('page', String(page))
  parameters.set('per_page', String(PAGE_RECORDS))
  return `configurations/?${parameters}`
}

/** The order after a click on a heading: the other direction if it is that field's already. */
export function nextSort(sort: string, field: FieldName): string {
  return sort === field ? `-${field}` : field
}

/** A change that the server has sent. */
export interface LiveChange {
  readonly kind: 'added' | 'modified' | 'removed'
  /** As it is now; of a removal, as it was. */
  readonly configuration: Configuration
  /** Only of a modification: the record before it. */
  readonly before?: Configuration
}

/** Whether a list may differ after the change: its record is within what search and filters keep, before or after. */
export function concerns(
  { q, filters }: Pick<Address, 'q' | 'filters'>,
  { configuration, before }: LiveChange,
): boolean {
  return [configuration, before].some(
    (record) => record !== undefined && isFound(q, record) && areAllKept(filters, record),
  )
}

/** As the API searches: each word, both sides by `toLowerCase`. */
function isFound(q: string, { name, hostname, username, labels = {} }: Configuration): boolean {
  const texts = [name, hostname, username, ...Object.values(labels)].map((text) => text.toLowerCase())
  return q.split(/\s+/).every((word) => texts.some((text) => text.includes(word.toLowerCase())))
}

function areAllKept(filters: Address['filters'], record: Configuration): boolean {
  const labels = filters.flatMap(([name, value]) => (name === 'label' ? value : []))
  const wanted = Map.groupBy(
    labels.filter((label) => !isNegative(label)),
    keyOfLabel,
  )
  return (
    labels.every((label) => !isNegative(label) || !hasLabel(record, label.replace('!', ''))) &&
    [...wanted.values()].every((ofKey) => ofKey.some((label) => hasLabel(record, label))) &&
    filters.every(([name, value]) => name === 'label' || isKept(name, value, record))
  )
}

/** The key in the filter `KEY` or `KEY=VALUE`. */
export function keyOfLabel(label: string): string {
  return label.replace(/=.*$/s, '')
}

/** `!KEY` or `KEY!=VALUE`. */
export function isNegative(label: string): boolean {
  return /^!|^[^=]*!=/.test(label)
}

/** @param label `KEY` or `KEY=VALUE`. */
function hasLabel({ labels = {} }: Configuration, label: string): boolean {
  const [key = '', ...rest] = label.split('=')
  const has = Object.hasOwn(labels, key) ? labels[key] : undefined
  if (has === undefined || rest.length === 0) return has !== undefined
  const value = rest.join('=')
  const isMember = () => value !== '' && has.split(',').some((group) => group.trim() === value)
  return has === value || (key === 'group' && isMember())
}

function isKept(filter: string, value: string, record: Configuration): boolean {
  if (filter === 'prefix') return record.name.startsWith(value)
  if (filter === 'id') return value.split(',').includes(String(record.id))
  const field = fieldNames.find((name) => name === filter)
  return field === undefined || String(record[field] ?? '') === value
}
