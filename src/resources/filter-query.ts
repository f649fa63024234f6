import { FILTER_CHARACTERS_MAX, LABELS_MAX } from '../limits.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import { faultOfKey, faultOfValue } from '../store/labels.ts'
import { type Filter, type LabelFilter, parseLabelFilter } from '../store/record-filter.ts'
import { isLongerThan } from '../text.ts'
import type { Query } from './query.ts'

/** The parameters of lists and event streams that filter, and that may be given once. Lists have `q`, too. */
export const filterNames = ['prefix', ...fieldNames] as const
/** Those that may be repeated: then all must hold. */
export const repeatableFilterNames = ['label'] as const

/** In the order in which links have them. */
const singleNames = ['q', ...filterNames] as const
type SingleName = (typeof singleNames)[number]

const NOT_DECIMAL = 'must be a plain decimal integer'
/** Longest part of a key that a message shows. */
const SHOWN_CHARACTERS_MAX = 64

/** Undefined if no filter is given. Adds a fault for each one that is not valid. */
export function parseFilter({
  values,
  lists,
  faults,
}: Query<SingleName, (typeof repeatableFilterNames)[number]>): Filter | undefined {
  const filter: Partial<Record<SingleName, string | number>> & { labels?: readonly LabelFilter[] } = {}
  for (const name of singleNames) {
    const text = values[name]
    if (text === undefined) continue
    const field = recordFields.find((one) => one.name === name)
    const value = field === undefined ? text : field.parse(text)
    const detail = typeof value === 'string' ? checkLength(value) : field?.check(value)
    if (detail !== undefined) faults.push({ field: name, detail })
    else if (field?.isStored(value) === false) faults.push({ field: name, detail: NOT_DECIMAL })
    else filter[name] = value as string | number
  }
  const { label: labels = [] } = lists
  // No record has more, so more of them could only repeat each other or keep nothing.
  if (labels.length > LABELS_MAX)
    faults.push({ field: 'label', detail: `must not be given more than ${LABELS_MAX} times` })
  else {
    for (const text of labels) {
      const detail = faultOfLabel(text)
      if (detail !== undefined) faults.push({ field: 'label', detail })
    }
    if (labels.length > 0) filter.labels = labels.map(parseLabelFilter)
  }
  return Object.keys(filter).length === 0 ? undefined : (filter as Filter)
}

/** The parameters of a filter, each with a `&` after it; '' without a filter. */
export function formatFilter(filter: Filter = {}): string {
  const { labels = [] } = filter
  const singles = singleNames.flatMap((name) => {
    const value = filter[name]
    return value === undefined ? [] : formatParameter(name, value)
  })
  const repeated = labels.map(({ key, value }) =>
    formatParameter('label', value === undefined ? key : `${key}=${value}`),
  )
  return [...singles, ...repeated].join('')
}

function formatParameter(name: string, value: string | number): string {
  return `${name}=${encodeURIComponent(value)}&`
}

/** Any other text is looked for: an old record may have what a new one may not. */
function checkLength(text: string): string | undefined {
  if (text === '') return 'must not be empty'
  if (isLongerThan(text, FILTER_CHARACTERS_MAX))
    return `must not be longer than ${FILTER_CHARACTERS_MAX} characters`
  return undefined
}

function faultOfLabel(text: string): string | undefined {
  if (text === '') return 'must not be empty; it is KEY or KEY=VALUE'
  const { key, value = '' } = parseLabelFilter(text)
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
