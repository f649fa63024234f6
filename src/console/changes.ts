import type { Labels } from '../store/labels.ts'
import { type Configuration, type FieldName, fieldNames } from './configuration.ts'

/** What has to be sent so that the record gets the values (RFC 7396 for its labels). */
export function changesIn(
  { labels, ...values }: Readonly<Record<string, unknown>> & { readonly labels: Labels },
  before: Configuration,
): Record<string, unknown> {
  const fields = fieldNames
    .filter((field) => (values[field] ?? undefined) !== before[field])
    .map((field) => [field, values[field]])
  const [now = {}, then = {}] = [labels, before.labels]
  const set = Object.entries(now).filter(([key, value]) => !Object.hasOwn(then, key) || then[key] !== value)
  const removed = Object.keys(then)
    .filter((key) => !Object.hasOwn(now, key))
    .map((key) => [key, null])
  const patch = [...set, ...removed]
  return { ...Object.fromEntries(fields), ...(patch.length > 0 ? { labels: Object.fromEntries(patch) } : {}) }
}

/** Whether nothing has to be sent so that the record gets the values. */
export function isSame(
  one: Readonly<Record<string, unknown>> & { readonly labels?: Labels },
  other: Configuration,
): boolean {
  return Object.keys(changesIn({ ...one, labels: one.labels ?? {} }, other)).length === 0
}

/** What a change gives to each record: fields, and labels of which null removes one. */
export interface Patch extends Partial<Readonly<Record<Exclude<FieldName, 'name'>, unknown>>> {
  readonly labels?: Readonly<Record<string, string | null>>
}

/** The record as it is after the change, which must be valid. */
export function patched(record: Configuration, { labels = {}, ...fields }: Patch): Configuration {
  const merged = Object.entries({ ...record.labels, ...labels }).filter(([, value]) => value !== null)
  return { ...record, ...fields, labels: Object.fromEntries(merged) } as Configuration
}

/** One field or label in two versions; what a version does not have is undefined. */
export interface FieldPair {
  readonly field: string
  readonly mine: string | undefined
  readonly theirs: string | undefined
}

export type Version = { readonly [Field in FieldName]?: unknown } & { readonly labels?: Labels }

/** Every field and label that one of two versions has, in the order of the form. */
export function compareVersions(mine: Version, theirs: Version): readonly FieldPair[] {
  const [a, b] = [textsOf(mine), textsOf(theirs)]
  const fields = [...new Set([...a.keys(), ...b.keys()])]
  return fields.map((field) => ({ field, mine: a.get(field), theirs: b.get(field) }))
}

/** Its fields and labels as text, in the order of the form; a label as `labels.KEY`. */
export function textsOf(version: Version): Map<string, string> {
  const fields = fieldNames.map((field): [string, string] => [field, String(version[field] ?? '')])
  const labels = Object.entries(version.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map([...fields, ...labels.map(([key, value]): [string, string] => [`labels.${key}`, value])])
}
