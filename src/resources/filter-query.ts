import { FILTER_IDS_MAX, FILTER_LABELS_MAX, FILTER_WORDS_MAX } from '../limits.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import {
  type Filter,
  faultOfFilterText,
  faultOfLabelFilter,
  formatLabelFilter,
  parseLabelFilter,
  wordsOf,
} from '../store/record-filter.ts'
import { checkQuery, parseQuery, type Query } from './query.ts'

/** The parameters of lists and event streams that filter, and that may be given once. Lists have `q`, too. */
export const filterNames = ['prefix', ...fieldNames, 'id'] as const
/** Those that may be repeated. */
export const repeatableFilterNames = ['label'] as const

/** In the order in which links have them. */
const textNames = ['q', 'prefix', ...fieldNames] as const
type SingleName = 'q' | (typeof filterNames)[number]

const NOT_DECIMAL = 'must be a plain decimal integer'

/**
 * Reads a query of nothing but filters.
 *
 * @returns Undefined if no filter is given.
 * @throws {InvalidInputError} naming every faulty parameter.
 */
export function parseFilterQuery(text: string): Filter | undefined {
  const query: Query<SingleName, (typeof repeatableFilterNames)[number]> = parseQuery(
    text,
    ['q', ...filterNames],
    repeatableFilterNames,
  )
  const filter = parseFilter(query)
  checkQuery(query)
  return filter
}

/** Undefined if no filter is given. Adds a fault for each one that is not valid. */
export function parseFilter({
  values,
  lists,
  faults,
}: Query<SingleName, (typeof repeatableFilterNames)[number]>): Filter | undefined {
  const filter: { -readonly [Name in keyof Filter]: unknown } = {}
  for (const name of textNames) {
    const text = values[name]
    if (text === undefined) continue
    const field = recordFields.find((one) => one.name === name)
    const value = field === undefined ? text : field.parse(text)
    const detail =
      name === 'q'
        ? faultOfWords(text)
        : typeof value === 'string'
          ? faultOfFilterText(value)
          : field?.check(value)
    if (detail !== undefined) faults.push({ field: name, detail })
    else if (field?.isStored(value) === false) faults.push({ field: name, detail: NOT_DECIMAL })
    else filter[name] = value
  }
  if (values.id !== undefined) {
    const ids = parseIds(values.id)
    if (typeof ids === 'string') faults.push({ field: 'id', detail: ids })
    else filter.ids = ids
  }
  const { label: labels = [] } = lists
  if (labels.length > FILTER_LABELS_MAX)
    faults.push({ field: 'label', detail: `must not be given more than ${FILTER_LABELS_MAX} times` })
  else {
    for (const text of labels) {
      const detail = faultOfLabelFilter(text)
      if (detail !== undefined) faults.push({ field: 'label', detail })
    }
    if (labels.length > 0) filter.labels = labels.map(parseLabelFilter)
  }
  return Object.keys(filter).length === 0 ? undefined : (filter as Filter)
}

/** The parameters of a filter, each with a `&` after it; '' without a filter. */
export function formatFilter(filter: Filter = {}): string {
  const { labels = [], ids = [] } = filter
  const singles = textNames.flatMap((name) => {
    const value = filter[name]
    return value === undefined ? [] : formatParameter(name, value)
  })
  // Their commas stay as they are, so that a link with many is not three times as long.
  if (ids.length > 0) singles.push(`id=${ids.join(',')}&`)
  return [...singles, ...labels.map((label) => formatParameter('label', formatLabelFilter(label)))].join('')
}

function formatParameter(name: string, value: string | number): string {
  return `${name}=${encodeURIComponent(value)}&`
}

function faultOfWords(text: string): string | undefined {
  const count = wordsOf(text).length
  if (count > FILTER_WORDS_MAX) return `must not have more than ${FILTER_WORDS_MAX} words; these are ${count}`
  return faultOfFilterText(text) ?? (count === 0 ? 'must not be blank' : undefined)
}

/** Sorted, each once. @returns Or what is wrong. */
function parseIds(text: string): readonly number[] | string {
  if (text === '') return 'must not be empty'
  const parts = text.split(',')
  const isId = (part: string) => /^[1-9]\d{0,15}$/.test(part) && Number.isSafeInteger(Number(part))
  if (!parts.every(isId)) return 'must be ids with commas between them, each a plain decimal integer from 1'
  const ids = [...new Set(parts.map(Number))]
  if (ids.length > FILTER_IDS_MAX)
    return `must not have more than ${FILTER_IDS_MAX} ids; these are ${ids.length}`
  return ids.sort((a, b) => a - b)
}
