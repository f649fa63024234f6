import type { Configuration } from './configuration.ts'
import { isBefore, type Sort } from './configuration-index.ts'
import { type FieldName, type FieldValues, fieldNames } from './fields.ts'
import { labelOf } from './labels.ts'
import type { RecordChange } from './recent-changes.ts'

/** A label that a record must have. */
export interface LabelFilter {
  readonly key: string
  /** Undefined for any. */
  readonly value: string | undefined
}

/** What a list keeps: the records for which everything holds that is given. */
export type Filter = {
  /** Occurs in name, hostname or username; upper and lower case are the same. */
  readonly q?: string
  /** The name begins with it. */
  readonly prefix?: string
  /** All of them must be there; at least one. */
  readonly labels?: readonly LabelFilter[]
} & { readonly [Name in FieldName]?: NonNullable<FieldValues[Name]> }

export type Matcher = (record: Configuration) => boolean

/** Neighbours in an order. */
export interface Stretch {
  readonly order: Sort
  /** Negative for a record before the stretch, 0 within it, positive after it. */
  readonly place: (record: Configuration) => number
}

/** Whether the filter keeps a record. */
export function matcherOf(filter: Filter): Matcher {
  const { q, prefix, labels = [] } = filter
  const matchers: Matcher[] = []
  // The cheapest first.
  for (const field of fieldNames) {
    const value = filter[field]
    if (value !== undefined) matchers.push((record) => record[field] === value)
  }
  if (prefix !== undefined) matchers.push(({ name }) => name.startsWith(prefix))
  for (const label of labels) matchers.push(labelMatcherOf(label))
  if (q !== undefined) matchers.push(occurrenceOf(q))
  const [first, ...others] = matchers
  if (first === undefined) return () => true
  return others.length === 0 ? first : (record) => first(record) && others.every((matches) => matches(record))
}

/** Whether a filter keeps the record as it was before a change, or as it is after it. */
export function changeMatcherOf(filter: Filter): (change: RecordChange) => boolean {
  const matches = matcherOf(filter)
  return ({ before, after }) =>
    (after !== undefined && matches(after)) || (before !== undefined && matches(before))
}

/**
 * The stretch of an order that is exactly what the filter keeps, sorted so; undefined if there is none.
 *
 * Records with one value of a field stand by rising id in either order of that field, which is their order by id, too.
 */
export function stretchOf(filter: Filter, sort: Sort | undefined): Stretch | undefined {
  const [only, ...others] = Object.keys(filter)
  if (others.length > 0) return undefined
  const { prefix } = filter
  if (prefix !== undefined) {
    if (sort !== 'name' && sort !== '-name') return undefined
    const direction = sort === 'name' ? 1 : -1
    const place = ({ name }: Configuration) =>
      name.startsWith(prefix) ? 0 : name < prefix ? -direction : direction
    return { order: sort, place }
  }
  const field = fieldNames.find((name) => name === only)
  const value = field && filter[field]
  if (field === undefined || value === undefined) return undefined
  if (sort !== undefined && sort !== field && sort !== `-${field}`) return undefined
  return {
    order: field,
    place: ({ [field]: other }) => (other === value ? 0 : isBefore(other, value) ? -1 : 1),
  }
}

function labelMatcherOf({ key, value }: LabelFilter): Matcher {
  if (value === undefined) return ({ labels }) => labelOf(labels, key) !== undefined
  return ({ labels }) => labelOf(labels, key) === value
}

function occurrenceOf(q: string): Matcher {
  const text = q.toLowerCase()
  // V8 makes a short text lower in some 20 ns: less than a look whether that is needed.
  return ({ name, hostname, username }) =>
    name.toLowerCase().includes(text) ||
    hostname.toLowerCase().includes(text) ||
    username.toLowerCase().includes(text)
}

/** Reads `KEY` or `KEY=VALUE`. */
export function parseLabelFilter(text: string): LabelFilter {
  const at = text.indexOf('=')
  return at < 0 ? { key: text, value: undefined } : { key: text.slice(0, at), value: text.slice(at + 1) }
}
