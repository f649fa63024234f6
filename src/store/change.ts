import { checkMembers, isObject } from '../json.ts'
import { Configuration, type NewConfiguration } from './configuration.ts'
import { fieldNames, recordFields } from './fields.ts'

/** One change of one record, as the journal keeps it. */
export type Change =
  | { readonly add: Configuration }
  /** The record after the change, and its name before. */
  | { readonly modify: Configuration; readonly name: string }
  | { readonly remove: string }

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
 * @throws {SyntaxError} if it is no change. @throws {NewerFormError} if it has an unknown member.
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

/** Reads a stored record; undefined if it is none. @throws {NewerFormError} if it has an unknown member. */
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
  // Counting takes less time than a look at each.
  if (Object.keys(input).length !== members) checkMembers(input, recordMembers, 'a record')
  return new Configuration(id, input as unknown as NewConfiguration)
}
