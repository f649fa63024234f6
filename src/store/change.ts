import { TooManyChangesError } from '../errors.ts'
import { checkMembers, isObject } from '../json.ts'
import { LINE_BYTES_MAX } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import { type Authorship, AuthorshipReader, authorshipMembers, encodeAuthorship } from './authorship.ts'
import { Configuration, type NewConfiguration } from './configuration.ts'
import { fieldNames, recordFields } from './fields.ts'
import { areStoredLabels } from './labels.ts'
import { inSteps } from './slices.ts'

/** Bytes of a large frame that are encoded or checksummed at once. */
const FRAME_PIECE_BYTES = 256 * 1024

/** One change of one record, as the journal keeps it. */
export type Change = Alteration & {
  /** Absent if nobody is known to have made it. */
  readonly authorship?: Authorship
}

/** What a change does. */
export type Alteration =
  | { readonly add: Configuration }
  /** The record after the change, and its name before. */
  | { readonly modify: Configuration; readonly name: string }
  | { readonly remove: string }

/** The names that a change takes or frees. */
export function namesOf(change: Alteration): readonly string[] {
  if ('add' in change) return [change.add.name]
  if ('remove' in change) return [change.remove]
  return change.name === change.modify.name ? [change.name] : [change.name, change.modify.name]
}

/**
 * Form of the changes that `encodeChanges` gives. `ChangeReader` also reads those before it, which lack members: reasons and
 * the use of `sudo` in form 3, labels in form 2, and in form 1 who made a change, and when.
 */
export const CHANGE_VERSION = 4

const changeMembers = [
  ['add', ...authorshipMembers],
  ['modify', 'name', ...authorshipMembers],
  ['remove', ...authorshipMembers],
] as const
const recordMembers = ['id', ...fieldNames, 'labels']

/**
 * The changes of one frame as compact JSON, in pieces of about FRAME_PIECE_BYTES.
 *
 * @throws {TooManyChangesError} if they are longer than LINE_BYTES_MAX: labels that are kept can make a short import long.
 */
export function* encodeChanges(changes: Iterable<Change>): LongWork<readonly Buffer[]> {
  const pieces: Buffer[] = []
  let text = '['
  let bytes = 0
  let before: Authorship | undefined
  yield* inSteps(changes, (change, position) => {
    text += `${position === 0 ? '' : ','}${encodeChange(change, before)}`
    before = change.authorship
    if (text.length < FRAME_PIECE_BYTES) return
    const piece = Buffer.from(text)
    pieces.push(piece)
    bytes += piece.length
    if (bytes > LINE_BYTES_MAX)
      throw new TooManyChangesError(
        `Cannot store more than ${LINE_BYTES_MAX} bytes of changes at once; make it several`,
      )
    text = ''
  })
  pieces.push(Buffer.from(`${text}]`))
  return pieces
}

function encodeChange(change: Change, before: Authorship | undefined): string {
  return `{${encodeAlteration(change)}${encodeAuthorship(change.authorship, before)}}`
}

function encodeAlteration(change: Alteration): string {
  if ('add' in change) return `"add":${change.add.json}`
  if ('modify' in change) return `"modify":${change.modify.json},"name":${JSON.stringify(change.name)}`
  return `"remove":${JSON.stringify(change.remove)}`
}

/** Reads the changes of a journal back, in their order. */
export class ChangeReader {
  readonly #authorships = new AuthorshipReader()

  /** @throws {SyntaxError} if it is not a change. @throws {NewerFormError} if it has an unknown member. */
  read(input: unknown): Change {
    if (!isObject(input)) throw new SyntaxError('it is no change')
    checkMembers(input, changeMembers.find(([kind]) => kind in input) ?? [], 'a change')
    const alteration = parseAlteration(input)
    const authorship = this.#authorships.read(input)
    return authorship === undefined ? alteration : { ...alteration, authorship }
  }
}

function parseAlteration({ add, modify, name, remove }: Record<string, unknown>): Alteration {
  const record = parseStoredRecord(add ?? modify)
  if (record !== undefined && modify === undefined) return { add: record }
  if (record !== undefined && typeof name === 'string') return { modify: record, name }
  if (typeof remove === 'string') return { remove }
  throw new SyntaxError('it is no change')
}

/** Reads a stored record; undefined for anything else. @throws {NewerFormError} if it has an unknown member. */
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
  if (input.labels !== undefined) {
    if (!areStoredLabels(input.labels)) return undefined
    members += 1
  }
  // Counting takes less time than a look at each.
  if (Object.keys(input).length !== members) checkMembers(input, recordMembers, 'a record')
  return new Configuration(id, input as unknown as NewConfiguration)
}
