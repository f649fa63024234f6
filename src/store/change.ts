import { isObject } from '../json.ts'
import { Configuration } from './configuration.ts'

/** What a journal frame holds: one change of one record, complete in itself. */
export type Change =
  | { readonly add: Configuration }
  /** The record as it became, and the name that it had before. */
  | { readonly modify: Configuration; readonly name: string }
  | { readonly remove: string }

/** A change as compact JSON. */
export function encodeChange(change: Change): string {
  if ('add' in change) return `{"add":${change.add.json}}`
  if ('modify' in change) return `{"modify":${change.modify.json},"name":${JSON.stringify(change.name)}}`
  return JSON.stringify(change)
}

/**
 * Reads a change back from a journal.
 *
 * @throws {SyntaxError} when it is none.
 */
export function parseChange(input: unknown): Change {
  if (isObject(input)) {
    if ('remove' in input && typeof input.remove === 'string') return { remove: input.remove }
    const record = parseStoredRecord(input.add ?? input.modify)
    if (record !== undefined && 'add' in input) return { add: record }
    if (record !== undefined && typeof input.name === 'string') return { modify: record, name: input.name }
  }
  throw new SyntaxError('it is no change')
}

/**
 * Reads a record that was written by this program; undefined when it has not the shape.
 *
 * The checks of the interface are not made again: a record that was once accepted stays readable when they change.
 */
export function parseStoredRecord(input: unknown): Configuration | undefined {
  if (!isObject(input)) return undefined
  const { id, name, hostname, port, username } = input
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) return undefined
  if (typeof name !== 'string' || typeof hostname !== 'string' || typeof username !== 'string')
    return undefined
  return typeof port === 'number' ? new Configuration(id, { name, hostname, port, username }) : undefined
}
