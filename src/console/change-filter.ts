import type { Address } from './address.ts'
import { type Configuration, fieldNames } from './configuration.ts'

/** A change that the server has sent. */
export interface Change {
  readonly kind: 'added' | 'modified' | 'removed'
  /** As it is now; of a removal, as it was. */
  readonly configuration: Configuration
  /** Only of a modification: the record before it. */
  readonly before?: Configuration
}

/** Whether a list may differ after the change: its record is within what search and filters keep, before or after. */
export function concerns(
  { q, filters }: Pick<Address, 'q' | 'filters'>,
  { configuration, before }: Change,
): boolean {
  return [configuration, before].some(
    (record) =>
      record !== undefined &&
      isFound(q, record) &&
      filters.every(([name, value]) => isKept(name, value, record)),
  )
}

/** As the API searches: both sides by `toLowerCase`. */
function isFound(q: string, { name, hostname, username }: Configuration): boolean {
  const wanted = q.toLowerCase()
  return [name, hostname, username].some((text) => text.toLowerCase().includes(wanted))
}

function isKept(filter: string, value: string, record: Configuration): boolean {
  const { labels = {} } = record
  if (filter === 'prefix') return record.name.startsWith(value)
  if (filter === 'label') {
    const [key = '', ...rest] = value.split('=')
    return Object.hasOwn(labels, key) && (rest.length === 0 || labels[key] === rest.join('='))
  }
  const field = fieldNames.find((name) => name === filter)
  return field === undefined || String(record[field] ?? '') === value
}
