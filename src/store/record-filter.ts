import { FILTER_CHARACTERS_MAX } from '../limits.ts'
import { isLongerThan } from '../text.ts'
import type { Configuration } from './configuration.ts'
import { isBefore, type Sort } from './configuration-index.ts'
import { type FieldName, type FieldValues, fieldNames } from './fields.ts'
import { faultOfKey, faultOfValue, GROUP_KEY, hasGroup, type Labels, labelOf } from './labels.ts'
import type { RecordChange } from './recent-changes.ts'

const LABEL_FORMS = 'KEY, KEY=VALUE, !KEY or KEY!=VALUE'
/** Longest part of a key that a message shows. */
const SHOWN_CHARACTERS_MAX = 64

/** A label that a record must have, or must not have. */
export interface LabelFilter {
  readonly key: string
  /** Undefined for any. */
  readonly value: string | undefined
  readonly isWithout?: true
}

/** What a list keeps: the records for which everything holds that is given. */
export type Filter = {
  /** Words: each occurs in name, hostname, username or the value of a label; upper and lower case are the same. */
  readonly q?: string
  /** The name begins with it. */
  readonly prefix?: string
  /** At least one. Of those with one key that a record must have, one suffices; all others must hold. */
  readonly labels?: readonly LabelFilter[]
  /** Only records with one of these ids; at least one. */
  readonly ids?: readonly number[]
  /** Filters of which at least one must keep the record, too: those of an account that does not see all. */
  readonly anyOf?: readonly Filter[]
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
  const { q, prefix, labels = [], ids, anyOf: others = [] } = filter
  const matchers: Matcher[] = []
  // The cheapest first.
  for (const field of fieldNames) {
    const value = filter[field]
    if (value !== undefined) matchers.push((record) => record[field] === value)
  }
  if (prefix !== undefined) matchers.push(({ name }) => name.startsWith(prefix))
  if (ids !== undefined) {
    const wanted = new Set(ids)
    matchers.push(({ id }) => wanted.has(id))
  }
  matchers.push(...labelMatchersOf(labels))
  if (others.length > 0) matchers.push(anyMatcherOf(others.map(matcherOf)))
  const [word, ...otherWords] = q === undefined ? [] : wordsOf(q)
  if (word !== undefined) matchers.push(occurrenceOf(word))
  if (otherWords.length > 0) matchers.push(occurrencesOf(otherWords))
  const [first, ...more] = matchers
  if (first === undefined) return () => true
  return more.length === 0 ? first : (record) => first(record) && more.every((matches) => matches(record))
}

/** Whether a filter keeps the record as it was before a change, or as it is after it. */
export function changeMatcherOf(filter: Filter): (change: Pick<RecordChange, 'before' | 'after'>) => boolean {
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

/** One for each key that a record must have, and one for each whose labels it must not have. */
function labelMatchersOf(labels: readonly LabelFilter[]): Matcher[] {
  const ofEachKey = (some: readonly LabelFilter[]) =>
    Array.from(Map.groupBy(some, ({ key }) => key).entries(), ([key, ofKey]) => labelMatcherOf(key, ofKey))
  const wanted = ofEachKey(labels.filter(({ isWithout }) => !isWithout))
  const unwanted = ofEachKey(labels.filter(({ isWithout }) => isWithout))
  return [
    ...wanted,
    ...unwanted.map(
      (matches): Matcher =>
        (record) =>
          !matches(record),
    ),
  ]
}

/** Whether one of them holds. */
export function anyMatcherOf(matchers: readonly Matcher[]): Matcher {
  const [first, ...others] = matchers
  if (first !== undefined && others.length === 0) return first
  return (record) => matchers.some((matches) => matches(record))
}

/** Whether a record has one of the labels, which have one key. */
function labelMatcherOf(key: string, labels: readonly LabelFilter[]): Matcher {
  const values = new Set<string>()
  for (const { value } of labels) {
    if (value === undefined) return (record) => labelOf(record.labels, key) !== undefined
    values.add(value)
  }
  if (key === GROUP_KEY) return groupMatcherOf(values)
  const [only] = values
  if (values.size === 1) return ({ labels }) => labelOf(labels, key) === only
  return ({ labels }) => {
    const value = labelOf(labels, key)
    return value !== undefined && values.has(value)
  }
}

function groupMatcherOf(groups: ReadonlySet<string>): Matcher {
  const [only = ''] = groups
  if (groups.size > 1) return ({ labels }) => hasGroup(labelOf(labels, GROUP_KEY), groups)
  return ({ labels }) => {
    const value = labelOf(labels, GROUP_KEY)
    // Without a look at its parts: most values have no such text in them.
    return value?.includes(only) === true && hasGroup(value, groups)
  }
}

/** The words of `q`, which white space separates. */
export function wordsOf(q: string): string[] {
  return q.split(/\s+/).filter((word) => word !== '')
}

function occurrenceOf(word: string): Matcher {
  const text = word.toLowerCase()
  // V8 makes a short text lower in some 20 ns: less than a look whether that is needed.
  return ({ name, hostname, username, labels }) =>
    name.toLowerCase().includes(text) ||
    hostname.toLowerCase().includes(text) ||
    username.toLowerCase().includes(text) ||
    (labels !== undefined && occursInValue(labels, text))
}

/** @param text In lower case. */
function occursInValue(labels: Labels, text: string): boolean {
  for (const key in labels) if (labels[key]?.toLowerCase().includes(text)) return true
  return false
}

/** Whether each word occurs. Makes the texts of a record lower once, however many words there are. */
function occurrencesOf(words: readonly string[]): Matcher {
  const texts = words.map((word) => word.toLowerCase())
  return ({ name, hostname, username, labels }) => {
    // No word has white space, so none can begin in one text and end in the next.
    let all = `${name}\n${hostname}\n${username}`
    for (const key in labels) all += `\n${labels[key]}`
    const lower = all.toLowerCase()
    return texts.every((text) => lower.includes(text))
  }
}

/** Reads `KEY`, `KEY=VALUE`, `!KEY` or `KEY!=VALUE`. */
export function parseLabelFilter(text: string): LabelFilter {
  if (text.startsWith('!')) return { key: text.slice(1), value: undefined, isWithout: true }
  const at = text.indexOf('=')
  if (at < 0) return { key: text, value: undefined }
  const value = text.slice(at + 1)
  return text[at - 1] === '!'
    ? { key: text.slice(0, at - 1), value, isWithout: true }
    : { key: text.slice(0, at), value }
}

/** As `parseLabelFilter` reads it. */
export function formatLabelFilter({ key, value, isWithout }: LabelFilter): string {
  if (value === undefined) return isWithout ? `!${key}` : key
  return `${key}${isWithout ? '!=' : '='}${value}`
}

/** What is wrong with a text to filter by. Any other is looked for: an old record may have what a new one may not. */
export function faultOfFilterText(text: string): string | undefined {
  if (text === '') return 'must not be empty'
  if (isLongerThan(text, FILTER_CHARACTERS_MAX))
    return `must not be longer than ${FILTER_CHARACTERS_MAX} characters`
  return undefined
}

/** What is wrong with a label filter as `parseLabelFilter` reads it. */
export function faultOfLabelFilter(text: string): string | undefined {
  if (text === '') return `must not be empty; it is ${LABEL_FORMS}`
  const { key, value = '', isWithout } = parseLabelFilter(text)
  if (isWithout && key.includes('=')) return `must be ${LABEL_FORMS}, not "${shortened(text)}"`
  // A parameter is given several times, so a fault says which one it means.
  const keyFault = faultOfKey(key)
  if (keyFault !== undefined) return `the key "${shortened(key)}" ${keyFault}`
  const valueFault = faultOfValue(value)
  return valueFault === undefined ? undefined : `the value of "${key}" ${valueFault}`
}

function shortened(text: string): string {
  const shown = [...text.slice(0, 2 * SHOWN_CHARACTERS_MAX)].slice(0, SHOWN_CHARACTERS_MAX).join('')
  return shown.length < text.length ? `${shown}…` : text
}
