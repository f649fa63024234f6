import { isObject } from '../json.ts'
import { Configuration, type NewConfiguration } from './configuration.ts'
import { recordFields } from './fields.ts'

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
  if (!isObject(input)) throw new SyntaxError('it is no change')
  const { add, modify, name, remove } = input
  const record = parseStoredRecord(add ?? modify)
  if (record !== undefined && modify === undefined) return { add: record }
  if (record !== undefined && typeof name === 'string') return { modify: record, name }
  if (typeof remove === 'string') return { remove }
  throw new SyntaxError('it is no change')
}

/** Reads a stored record; undefined when it is none. */
export function parseStoredRecord(input: unknown): Configuration | undefined {
  if (!isObject(input)) return undefined
  const { id } = input
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) return undefined
  for (const { name, isStored, isRequired } of recordFields) {
    const value = input[name]
    if (value === undefined ? isRequired : !isStored(value)) return undefined
  }
  return new Configuration(id, input as unknown as NewConfiguration)
}
