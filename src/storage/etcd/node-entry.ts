import { checkMembers, isObject, parseJson } from '../../json.ts'
import type { Actor } from '../../store/actor.ts'
import type { Authorship, ImportNote } from '../../store/authorship.ts'
import { parseImportNote } from '../../store/authorship.ts'
import { type Change, namesOf } from '../../store/change.ts'

/** What a node says of its last batch, under its own key. */
export interface NodeEntry {
  /** Counts the batches of the node. */
  readonly batch: number
  /** Random, of the process that wrote it: two with one node id are a copied folder. */
  readonly start: string
  readonly authors: readonly BatchAuthor[]
}

/** Who made some changes of a batch. No address: whoever reads etcd need not know from where people work. */
interface BatchAuthor {
  readonly actor: Actor
  readonly time: string
  readonly import?: ImportNote
  /** Of the records that a change takes or frees; undefined for all of the batch. */
  readonly names: readonly string[] | undefined
}

const authorMembers = ['kind', 'by', 'command', 'request', 'time', 'import', 'names']

/** @param isImport Whether all changes are one import. */
export function encodeNodeEntry(
  batch: number,
  start: string,
  changes: readonly Change[],
  isImport: boolean,
): string {
  const authors: Record<string, unknown>[] = []
  let last: { readonly key: string; readonly names: string[] } | undefined
  for (const change of isImport ? changes.slice(0, 1) : changes) {
    const author = authorOf(change.authorship)
    if (isImport) authors.push(author)
    else {
      const key = JSON.stringify(author)
      if (last?.key !== key) {
        last = { key, names: [] }
        authors.push({ ...author, names: last.names })
      }
      last.names.push(...namesOf(change))
    }
  }
  return JSON.stringify({ batch, start, authors })
}

/** @throws {SyntaxError} if it is none. @throws {NewerFormError} if it has an unknown member. */
export function parseNodeEntry(text: string): NodeEntry {
  const input = parseJson(text)
  if (!isObject(input)) throw malformed()
  checkMembers(input, ['batch', 'start', 'authors'], 'the key of a node')
  const { batch, start, authors } = input
  if (typeof batch !== 'number' || typeof start !== 'string' || !Array.isArray(authors)) throw malformed()
  return { batch, start, authors: authors.map(parseAuthor) }
}

/** Who made the change that touches a name; only the first change of an import has its note. */
export function authorshipFor({ authors }: NodeEntry, name: string): Authorship | undefined {
  const found = authors.find(({ names }) => names === undefined || names.includes(name))
  return found && { actor: found.actor, time: found.time }
}

/** The note of the import that a batch is. */
export function importNoteOf({ authors }: NodeEntry): ImportNote | undefined {
  return authors[0]?.import
}

function authorOf(authorship: Authorship | undefined): Record<string, unknown> {
  if (authorship === undefined) return {}
  const { actor, time, import: note } = authorship
  if ('command' in actor) return { command: actor.command, by: actor.by, time, import: note }
  const { principal, requestId } = actor
  return { kind: principal?.kind, by: principal?.name, request: requestId, time, import: note }
}

function parseAuthor(input: unknown): BatchAuthor {
  if (!isObject(input)) throw malformed()
  checkMembers(input, authorMembers, 'the author of a batch')
  const { kind, by, command, request, time, import: note, names } = input
  if (typeof time !== 'string' || !isNames(names)) throw malformed()
  const told = { time, names, ...(note === undefined ? {} : { import: parseImportNote(note) }) }
  if (typeof command === 'string' && typeof by === 'string') return { actor: { command, by }, ...told }
  if (typeof request !== 'string') throw malformed()
  if (kind === undefined && by === undefined) return { actor: { requestId: request }, ...told }
  if ((kind !== 'user' && kind !== 'client') || typeof by !== 'string') throw malformed()
  return { actor: { requestId: request, principal: { kind, name: by } }, ...told }
}

function isNames(input: unknown): input is readonly string[] | undefined {
  return input === undefined || (Array.isArray(input) && input.every((name) => typeof name === 'string'))
}

function malformed(): SyntaxError {
  return new SyntaxError('it does not tell the last batch of a node')
}
