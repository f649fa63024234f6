import { checkMembers, isObject } from '../json.ts'
import { Configuration, type NewConfiguration } from './configuration.ts'
import { fieldNames, recordFields } from './fields.ts'

/** What a journal frame holds: one change of one record, complete in itself. */
export type Change =
  | { readonly add: Configuration }
  /** The record as it became, and the name that it had before. */
  | { readonly modify: Configuration; readonly name: string }
  | { readonly remove: string }

/** The members of each kind of change. */
const changeMembers = [['add'], ['modify', 'name'], ['remove']] as const
const recordMembers = ['id', ...fieldNames]

/** A change as compact JSON. */
export function encodeChange(change: Change): string {
  if ('add' in change) return `{"add":${change.add.json}}`
  if ('modify' in change) return `{"modify":${change.modify.json},"name":${JSON.stringify(change.name)}}`
  return JSON.stringify(change)
}

/**
 * Reads a change back from a journal.
 *
 * @throws {SyntaxError} when it is none. @throws {NewerFormError} when it has an unknown member.
 */
export function parseChange(input: unknown): Change {
  if (!isObject(input)) throw new SyntaxError('it is no change')
  checkMembers(input, changeMembers.find(([kind]) => kind in input) ?? [], 'a change')
  const { add, modify, name, remove } = input
  const record = parseStoredRecord(add ?? modify)
  if (record !== undefined && modify === undefined) return { add: record }
  if (record !== undefined && typeof name === 'string') return { modify: record, name }
  if (typeof remove === 'string') return { remove }
  throw new SyntaxError('it is no change')
}

/**
 * Reads a stored record; undefined when it is none.
 *
 * @throws {NewerFormError} when it has an unknown member.
 */
export function parseStoredRecord(input: unknown): Configuration | undefined {
  if (!isObject(input)) return undefined
  const { id } = input
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) return undefined
  let members = 1
  for (const { name, isStored, isRequired } of recordFields) {
    const value = input[name]
    if (value === undefined ? isRequired : !isStored(value)) return undefined
    if (value !== undefined) members += 1
  }
  // To count them takes less time than to look at each.
  if (Object.keys(input).length !== members) checkMembers(input, recordMembers, 'a record')
  return new Configuration(id, input as unknown as NewConfiguration)
}
