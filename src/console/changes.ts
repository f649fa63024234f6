import { type Configuration, fieldNames, type Labels } from './configuration.ts'

/** What has to be sent so that the record gets the values (RFC 7396 for its labels). */
export function changesIn(
  { labels, ...values }: Record<string, unknown> & { readonly labels: Labels },
  before: Configuration,
): Record<string, unknown> {
  const fields = fieldNames
    .filter((field) => values[field] !== before[field])
    .map((field) => [field, values[field]])
  const [now = {}, then = {}] = [labels, before.labels]
  const set = Object.entries(now).filter(([key, value]) => !Object.hasOwn(then, key) || then[key] !== value)
  const removed = Object.keys(then)
    .filter((key) => !Object.hasOwn(now, key))
    .map((key) => [key, null])
  const patch = [...set, ...removed]
  return { ...Object.fromEntries(fields), ...(patch.length > 0 ? { labels: Object.fromEntries(patch) } : {}) }
}
