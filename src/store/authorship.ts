import { checkMembers, isObject } from '../json.ts'
import type { Actor } from './actor.ts'
import { type ImportMode, importModes } from './import-mode.ts'

/** Who made a change, when, and in which import. */
export interface Authorship {
  readonly actor: Actor
  /** RFC 3339, in UTC; when the change was decided. */
  readonly time: string
  /** Of the first change of an import. */
  readonly import?: ImportNote
}

/** An import as a whole. */
export interface ImportNote {
  readonly mode: ImportMode
  /** How many records it added, and so on. Its changes are as many as these, but for `unchanged`. */
  readonly added: number
  readonly modified: number
  readonly removed: number
  readonly unchanged: number
}

const actorMembers = ['address', 'kind', 'by', 'command']
const noteMembers = ['mode', 'added', 'modified', 'removed', 'unchanged']

/** The members of a stored change that tell its authorship. */
export const authorshipMembers = ['actor', 'request', 'time', 'import'] as const

/**
 * Members that tell the authorship of a stored change, each with a comma before it. What is equal in the change before,
 * in the same frame, is left out.
 *
 * @param before Undefined for the first change of a frame.
 */
export function encodeAuthorship(authorship: Authorship | undefined, before: Authorship | undefined): string {
  if (authorship === undefined) return ',"actor":null'
  const { actor, time, import: note } = authorship
  let text = ''
  if (before === undefined || !areAlike(actor, before.actor))
    text += `,"actor":${JSON.stringify(withoutRequest(actor))}`
  if (!('command' in actor) && actor.requestId !== requestOf(before))
    text += `,"request":${JSON.stringify(actor.requestId)}`
  if (time !== before?.time) text += `,"time":"${time}"`
  if (note !== undefined) text += `,"import":${JSON.stringify(note)}`
  return text
}

/** Reads the authorship of stored changes, in their order. */
export class AuthorshipReader {
  #actor: unknown
  #request: unknown
  #time: unknown

  /**
   * @param change Members that `encodeAuthorship` left out have the value of the change before.
   * @returns Undefined for a change of the first form, which tells no authorship.
   * @throws {SyntaxError} if a member has not the form. @throws {NewerFormError} if one has an unknown member.
   */
  read(change: Record<string, unknown>): Authorship | undefined {
    const { actor = this.#actor, request = this.#request, time = this.#time, import: note } = change
    this.#actor = actor
    this.#request = request
    this.#time = time
    if (actor === undefined || actor === null) return undefined
    if (!isObject(actor) || typeof time !== 'string') throw malformed()
    const stored = { actor: parseActor(actor, request), time }
    return note === undefined ? stored : { ...stored, import: parseImportNote(note) }
  }
}

function parseActor(stored: Record<string, unknown>, request: unknown): Actor {
  checkMembers(stored, actorMembers, 'an actor')
  const { command, address, kind, by } = stored
  if (typeof command === 'string' && typeof by === 'string') return { command, by }
  if (typeof address !== 'string' || typeof request !== 'string') throw malformed()
  if (kind === undefined && by === undefined) return { address, requestId: request }
  if ((kind !== 'user' && kind !== 'client') || typeof by !== 'string') throw malformed()
  return { address, requestId: request, principal: { kind, name: by } }
}

/** @throws {SyntaxError} {NewerFormError} */
export function parseImportNote(note: unknown): ImportNote {
  if (!isObject(note)) throw malformed()
  checkMembers(note, noteMembers, 'the import note of a change')
  const { mode, added, modified, removed, unchanged } = note
  const known = importModes.find((one) => one === mode)
  if (
    known === undefined ||
    !isCount(added) ||
    !isCount(modified) ||
    !isCount(removed) ||
    !isCount(unchanged)
  )
    throw malformed()
  return { mode: known, added, modified, removed, unchanged }
}

function isCount(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0
}

function malformed(): SyntaxError {
  return new SyntaxError('it does not tell who made it')
}

/** Whether two actors differ at most in the request. */
function areAlike(one: Actor, other: Actor): boolean {
  if ('command' in one || 'command' in other)
    return 'command' in one && 'command' in other && one.command === other.command && one.by === other.by
  return (
    one.address === other.address &&
    one.principal?.kind === other.principal?.kind &&
    one.principal?.name === other.principal?.name
  )
}

function withoutRequest(actor: Actor): object {
  if ('command' in actor) return { command: actor.command, by: actor.by }
  return { address: actor.address, kind: actor.principal?.kind, by: actor.principal?.name }
}

function requestOf(authorship: Authorship | undefined): string | undefined {
  if (authorship === undefined || 'command' in authorship.actor) return undefined
  return authorship.actor.requestId
}
