import { checkMembers, isObject } from '../json.ts'

/** What an import does to records that are not in it: `merge` leaves them, `replace` removes them. */
export type ImportMode = 'merge' | 'replace'

export const importModes: readonly ImportMode[] = ['merge', 'replace']

/** Who made a change, when, and with which others. */
export interface Authorship extends Notes {
  readonly actor: Actor
  /** RFC 3339, in UTC; when the change was decided. */
  readonly time: string
}

/** What the first of several changes says of the whole: one of these. */
export interface Notes {
  readonly import?: ImportNote
  readonly many?: FilteredNote
}

/** A change of the records that a filter kept, as a whole. Its changes are as many as `modified` or `removed`. */
export type FilteredNote = {
  /** The filter. */
  readonly query: string
  readonly matched: number
} & (
  | {
      readonly modified: number
      readonly unchanged: number
      /** What was set: fields, and in `labels` labels; null for what was removed. */
      readonly changed: Readonly<Record<string, unknown>>
    }
  | { readonly removed: number }
)

/** An import as a whole. */
export interface ImportNote {
  readonly mode: ImportMode
  /** How many records it added, and so on. Its changes are as many as these, but for `unchanged`. */
  readonly added: number
  readonly modified: number
  readonly removed: number
  readonly unchanged: number
}

const actorMembers = ['address', 'kind', 'by', 'command', 'via', 'reason']
const noteMembers = ['mode', 'added', 'modified', 'removed', 'unchanged']
const filteredNoteMembers = ['query', 'matched', 'modified', 'unchanged', 'changed', 'removed']

/** The members of a stored change that hold its authorship. */
export const authorshipMembers = ['actor', 'request', 'time', 'import', 'many'] as const

/**
 * Members with the authorship of a stored change, each with a comma before it. What is equal in the change before,
 * in the same frame, is left out.
 *
 * @param before Undefined for the first change of a frame.
 */
export function encodeAuthorship(authorship: Authorship | undefined, before: Authorship | undefined): string {
  if (authorship === undefined) return ',"actor":null'
  const { actor, time, import: note, many } = authorship
  let text = ''
  if (before === undefined || !areAlike(actor, before.actor))
    text += `,"actor":${JSON.stringify(withoutRequest(actor))}`
  if (!('command' in actor) && actor.requestId !== requestOf(before))
    text += `,"request":${JSON.stringify(actor.requestId)}`
  if (time !== before?.time) text += `,"time":"${time}"`
  if (note !== undefined) text += `,"import":${JSON.stringify(note)}`
  if (many !== undefined) text += `,"many":${JSON.stringify(many)}`
  return text
}

/** Reads the authorship of stored changes, in their order. */
export class AuthorshipReader {
  #actor: unknown
  #request: unknown
  #time: unknown

  /**
   * @param change Members that `encodeAuthorship` left out have the value of the change before.
   * @returns Undefined if nobody is known to have made it.
   * @throws {SyntaxError} if a member has not the form. @throws {NewerFormError} if one has an unknown member.
   */
  read(change: Record<string, unknown>): Authorship | undefined {
    const { actor = this.#actor, request = this.#request, time = this.#time } = change
    this.#actor = actor
    this.#request = request
    this.#time = time
    if (actor === undefined || actor === null) return undefined
    if (!isObject(actor) || typeof time !== 'string') throw malformed()
    return { actor: parseActor(actor, request), time, ...parseNotes(change) }
  }
}

function parseActor(stored: Record<string, unknown>, request: unknown): Actor {
  checkMembers(stored, actorMembers, 'an actor')
  const { command, address, kind, by } = stored
  const why = whyIn(stored)
  if (typeof command === 'string' && typeof by === 'string') return { command, by, ...viaIn(stored), ...why }
  if (typeof address !== 'string' || typeof request !== 'string') throw malformed()
  if (kind === undefined && by === undefined) return { address, requestId: request, ...why }
  if ((kind !== 'user' && kind !== 'client') || typeof by !== 'string') throw malformed()
  return { address, requestId: request, principal: { kind, name: by }, ...why }
}

/** The reason that a stored actor gives. @throws {SyntaxError} */
export function whyIn({ reason }: Readonly<Record<string, unknown>>): Pick<Sender, 'reason'> {
  if (reason === undefined) return {}
  if (typeof reason !== 'string') throw malformed()
  return { reason }
}

/** Who is said to have run a stored command. @throws {SyntaxError} {NewerFormError} */
export function viaIn({ via }: Readonly<Record<string, unknown>>): Pick<CommandActor, 'via'> {
  if (via === undefined) return {}
  if (!isObject(via) || typeof via.claimed !== 'string') throw malformed()
  checkMembers(via, ['claimed'], 'the origin of a command')
  return { via: { claimed: via.claimed } }
}

/** The notes alone. */
export function notesOf({ import: note, many }: Notes): Notes {
  return { ...(note === undefined ? {} : { import: note }), ...(many === undefined ? {} : { many }) }
}

/** How many changes are made together with the one that has the notes, itself included; undefined without notes. */
export function countTogether({ import: note, many }: Notes): number | undefined {
  if (note !== undefined) return note.added + note.modified + note.removed
  if (many === undefined) return undefined
  return 'removed' in many ? many.removed : many.modified
}

/** @throws {SyntaxError} {NewerFormError} */
export function parseNotes({ import: note, many }: Readonly<Record<string, unknown>>): Notes {
  return {
    ...(note === undefined ? {} : { import: parseImportNote(note) }),
    ...(many === undefined ? {} : { many: parseFilteredNote(many) }),
  }
}

function parseFilteredNote(note: unknown): FilteredNote {
  if (!isObject(note)) throw malformed()
  checkMembers(note, filteredNoteMembers, 'the note of a change of many records')
  const { query, matched, modified, unchanged, changed, removed } = note
  if (typeof query !== 'string' || !isCount(matched)) throw malformed()
  if (isCount(removed)) return { query, matched, removed }
  if (!isCount(modified) || !isCount(unchanged) || !isObject(changed)) throw malformed()
  return { query, matched, modified, unchanged, changed }
}

function parseImportNote(note: unknown): ImportNote {
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
  if (one.reason !== other.reason) return false
  if ('command' in one || 'command' in other)
    return (
      'command' in one &&
      'command' in other &&
      one.command === other.command &&
      one.by === other.by &&
      one.via?.claimed === other.via?.claimed
    )
  return (
    one.address === other.address &&
    one.principal?.kind === other.principal?.kind &&
    one.principal?.name === other.principal?.name
  )
}

function withoutRequest(actor: Actor): object {
  const { reason } = actor
  if ('command' in actor) return { command: actor.command, by: actor.by, via: actor.via, reason }
  return { address: actor.address, kind: actor.principal?.kind, by: actor.principal?.name, reason }
}

function requestOf(authorship: Authorship | undefined): string | undefined {
  if (authorship === undefined || 'command' in authorship.actor) return undefined
  return authorship.actor.requestId
}

/** Who makes a change: the sender of a request, or whoever ran a command. */
export type Actor = Sender | CommandActor

interface Reasoned {
  /** Why, in the caller's words; only of changes of records. */
  readonly reason?: string
}

interface Sender extends Reasoned {
  /** Without a port. Unknown of a change that another node has made. */
  readonly address?: string
  readonly requestId: string
  /** Absent before the caller is authenticated. */
  readonly principal?: { readonly kind: 'user' | 'client'; readonly name: string }
}

export interface CommandActor extends Reasoned {
  /** Its words, without names: "user add". */
  readonly command: string
  /** The system account that ran it. */
  readonly by: string
  /** Who used `sudo` for it, as that says; nothing proves it. */
  readonly via?: { readonly claimed: string }
}

/** A request, or whatever else names its sender. */
interface SenderFields extends Omit<Sender, 'principal' | 'address' | 'reason'> {
  readonly address: string
  readonly principal?:
    | NonNullable<Sender['principal']>
    | {
        readonly kind: 'command'
        readonly name: string
        readonly command: string
        readonly claimed?: string | undefined
      }
}

/** Who sent a request, without the request, which a waiting change must not keep in memory. */
export function senderOf({ address, requestId, principal }: SenderFields): Actor {
  if (principal === undefined) return { address, requestId }
  const { kind, name } = principal
  if (kind === 'command') {
    const { command, claimed } = principal
    return { command, by: name, ...(claimed === undefined ? {} : { via: { claimed } }) }
  }
  return { address, requestId, principal: { kind, name } }
}

/** Somebody who asks for something, with the grants that limit it. */
export interface Limited {
  readonly principal?: { readonly grants?: readonly string[] | undefined } | undefined
}

/** Who asks for a change, and may be gone, or have lost the right to it, when it is decided or when its turn comes. */
export interface Asker extends Limited {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /**
   * Judges by what the caller may do now, and brings `principal` up to date. Called when a change is decided, and again just
   * before it is written.
   *
   * @throws if the change is not allowed, or not any more; nothing has changed.
   */
  checkAgain?: () => void
}
