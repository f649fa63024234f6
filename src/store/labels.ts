import { type Fault, InvalidInputError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { JsonSchema } from '../json-schema.ts'
import {
  FAULTS_MAX,
  LABEL_KEY_CHARACTERS_MAX,
  LABEL_VALUE_CHARACTERS_MAX,
  LABELS_BYTES_MAX,
  LABELS_MAX,
} from '../limits.ts'
import { checkText, kindOf } from '../text.ts'

/** What a record says besides its fields: texts by key. */
export type Labels = Readonly<Record<string, string>>

/** Labels to set, or with null to remove (RFC 7396). */
export type LabelsPatch = Readonly<Record<string, string | null>>

const encoder = new TextEncoder()
const mostBytes = new Uint8Array(LABELS_BYTES_MAX)
const KEY = new RegExp(`^(?=.{1,${LABEL_KEY_CHARACTERS_MAX}}$)[a-z](?:[a-z0-9._/-]*[a-z0-9])?$`)
const keySchema: JsonSchema = {
  type: 'string',
  maxLength: LABEL_KEY_CHARACTERS_MAX,
  pattern: '^[a-z](?:[a-z0-9._/-]*[a-z0-9])?$',
}
const valueSchema: JsonSchema = {
  type: 'string',
  maxLength: LABEL_VALUE_CHARACTERS_MAX,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
}

/** What `faultsOfLabels` demands, as far as JSON Schema can state it. */
export const labelsSchema: JsonSchema = {
  type: 'object',
  description: `Texts by key, in the order of the keys. Together at most ${LABELS_BYTES_MAX} bytes as JSON.`,
  maxProperties: LABELS_MAX,
  propertyNames: keySchema,
  additionalProperties: valueSchema,
}

/** The same of a patch. */
export const labelsPatchSchema: JsonSchema = {
  type: 'object',
  description: 'Labels to set; `null` removes one. The others stay.',
  propertyNames: keySchema,
  additionalProperties: { ...valueSchema, type: ['string', 'null'] },
}

/** `KEY`, `KEY=VALUE`, `!KEY` or `KEY!=VALUE`. */
export const labelFilterSchema: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: LABEL_KEY_CHARACTERS_MAX + '!='.length + LABEL_VALUE_CHARACTERS_MAX,
  pattern:
    '^(?:![a-z](?:[a-z0-9._/-]*[a-z0-9])?|[a-z](?:[a-z0-9._/-]*[a-z0-9])?(?:!?=[^\\u0000-\\u001f\\u007f-\\u009f]*)?)$',
  examples: ['env', 'env=prod', '!env', 'env!=prod'],
}

const NOT_A_KEY = `is not a label: a key is 1 to ${LABEL_KEY_CHARACTERS_MAX} of a-z, 0-9, ".", "_", "/" and "-", the first a letter, the last a letter or digit`

/** The value of a label; undefined without it. Keys such as `constructor` are also names of what every object has. */
export function labelOf(labels: Labels | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
}

/** The label that is a list: its value has names of groups, with commas between several. */
export const GROUP_KEY = 'group'

/** The names of groups in the value of the label `group`, each once. */
export function groupsIn(value: string): string[] {
  if (!value.includes(',')) {
    const only = value.trim()
    return only === '' ? [] : [only]
  }
  const names = value.split(',').map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== ''))]
}

/**
 * Whether the value of the label `group` is one of these texts, or has one as a member. It looks at each member once, however
 * many texts there are.
 */
export function hasGroup(value: string | undefined, groups: ReadonlySet<string>): boolean {
  if (value === undefined) return false
  if (groups.has(value)) return true
  for (let begin = 0, end = 0; end !== -1; begin = end + 1) {
    end = value.indexOf(',', begin)
    const name = value.slice(begin, end === -1 ? undefined : end).trim()
    if (name !== '' && groups.has(name)) return true
  }
  return false
}

/** The key of a label as a variable has it: `_` for all but letters and digits. */
export function variableOfKey(key: string): string {
  return key.replace(/[^a-z0-9]/g, '_')
}

/** A patch with the keys that a record has, where loose keys stand for exactly one of them. */
export function withOwnKeys(labels: Labels, patch: LabelsPatch, looseKeys: readonly string[]): LabelsPatch {
  const own = Map.groupBy(Object.keys(labels), variableOfKey)
  const entries = Object.entries(patch).map(([key, value]) => {
    const [only, ...others] = own.get(variableOfKey(key)) ?? []
    const isLoose = looseKeys.includes(key) && !Object.hasOwn(labels, key)
    const isClear = only !== undefined && others.length === 0 && !Object.hasOwn(patch, only)
    return [isLoose && isClear ? only : key, value] as const
  })
  return Object.fromEntries(entries)
}

/** What is wrong with the labels of a caller: with all of them, as `labels`, or with one, as `labels.KEY`. */
export function faultsOfLabels(input: unknown): Fault[] {
  if (!isObject(input)) return [notAnObject(input)]
  const count = Object.keys(input).length
  if (count > LABELS_MAX) return [tooMany(count)]
  const faults = faultsOfEach(input, faultOfValue)
  return faults.length > 0 ? faults : faultsOfSize(input as Labels)
}

/** The same of a patch, where null removes a label. Whether the result is too large shows only when it is merged. */
export function faultsOfLabelsPatch(input: unknown): Fault[] {
  if (!isObject(input)) return [notAnObject(input)]
  return faultsOfEach(input, (value) => (value === null ? undefined : faultOfValue(value)))
}

/** @throws {InvalidInputError} if the result has too many labels, or takes too many bytes. */
export function mergeLabels(before: Labels | undefined, patch: LabelsPatch): Labels {
  const merged: Record<string, string> = { ...before }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = value
  }
  const count = Object.keys(merged).length
  const faults = count > LABELS_MAX ? [tooMany(count)] : faultsOfSize(merged)
  if (faults.length > 0) throw new InvalidInputError('The configuration is not valid', faults)
  return merged
}

export function countLabels(labels: Labels | LabelsPatch | undefined): number {
  let count = 0
  for (const _ in labels) count += 1
  return count
}

export function areSameLabels(one: Labels | undefined, other: Labels | undefined): boolean {
  return changedLabels(one, other).length === 0
}

/** The keys whose labels differ, sorted. */
export function changedLabels(before: Labels | undefined, after: Labels | undefined): string[] {
  if (before === after) return []
  const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...keys].filter((key) => labelOf(before, key) !== labelOf(after, key)).sort()
}

/** Whether a stored value can be labels. The rules for values may change: old records stay readable. */
export function areStoredLabels(value: unknown): value is Labels {
  if (!isObject(value)) return false
  let count = 0
  for (const key in value) {
    if (typeof value[key] !== 'string' || !KEY.test(key)) return false
    count += 1
  }
  return count > 0
}

/** What is wrong with the key of a label, as the end of a sentence about it; undefined if nothing is. */
export function faultOfKey(key: string): string | undefined {
  return KEY.test(key) ? undefined : NOT_A_KEY
}

/** What is wrong with the value of a label; undefined if nothing is. */
export function faultOfValue(value: unknown): string | undefined {
  return value === '' ? undefined : checkText(value, LABEL_VALUE_CHARACTERS_MAX)
}

function faultsOfEach(
  input: Record<string, unknown>,
  check: (value: unknown) => string | undefined,
): Fault[] {
  const faults: Fault[] = []
  for (const [key, value] of Object.entries(input)) {
    if (faults.length >= FAULTS_MAX) break
    const detail = faultOfKey(key) ?? check(value)
    if (detail !== undefined) faults.push({ field: `labels.${key}`, detail })
  }
  return faults
}

function faultsOfSize(labels: Labels): Fault[] {
  const text = JSON.stringify(labels)
  // No character takes more than three bytes, so nearly all need not be encoded.
  if (text.length * 3 <= LABELS_BYTES_MAX) return []
  if (encoder.encodeInto(text, mostBytes).read === text.length) return []
  const bytes = encoder.encode(text).length
  return [
    { field: 'labels', detail: `must take at most ${LABELS_BYTES_MAX} bytes as JSON; these take ${bytes}` },
  ]
}

function tooMany(count: number): Fault {
  return { field: 'labels', detail: `must be at most ${LABELS_MAX}; these are ${count}` }
}

function notAnObject(input: unknown): Fault {
  return { field: 'labels', detail: `must be an object of texts, not ${kindOf(input)}` }
}
