import { checkMembers, isObject, parseJson } from '../json.ts'
import type { Log } from '../log.ts'
import {
  type Actor,
  type Authorship,
  type CommandActor,
  type Notes,
  notesOf,
  parseNotes,
  viaIn,
  whyIn,
} from '../store/authorship.ts'
import { type Change, namesOf } from '../store/change.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import { modIs, remove } from './messages.ts'

/** After which the key of a node is removed that has changed nothing. */
const NODE_KEY_DAYS = 30

const DAY_MS = 24 * 60 * 60 * 1000

/** What a node says of its last batch, under its own key. No address: who reads etcd need not know where people work. */
export interface NodeEntry {
  /** Counts the batches of the node. */
  readonly batch: number
  /** Random, of the process that wrote it: two with one node id are a copied folder. */
  readonly start: string
  /** When the last of its changes was decided, RFC 3339, in UTC; undefined if it names no author. */
  readonly time: string | undefined
  /** Set for a batch that is made as a whole, such as an import. */
  readonly notes: Notes
  /** Who made the change that takes or frees a name. */
  authorOf(name: string): Authorship | undefined
}

/** Changes with one author and one time; those of a command have no request. */
interface AuthoredChanges extends StoredAuthor {
  readonly changes: [request: string | null, ...names: string[]][]
}

type StoredAuthor = Readonly<Record<'kind' | 'by' | 'command' | 'time' | 'reason', string | undefined>> &
  Pick<CommandActor, 'via'>

const authorMembers = ['kind', 'by', 'command', 'via', 'time', 'reason']
const groupMembers = [...authorMembers, 'changes']
const importMembers = [...authorMembers, 'request', 'import', 'many']

/** @param isImport Whether all changes are one import: then they have one author, and their names are left out. */
export function encodeNodeEntry(
  batch: number,
  start: string,
  changes: readonly Change[],
  isImport: boolean,
): string {
  return JSON.stringify({ batch, start, authors: isImport ? importAuthor(changes[0]) : groups(changes) })
}

function importAuthor(first: Change | undefined): unknown[] {
  const { authorship } = first ?? {}
  if (authorship === undefined) return []
  return [{ ...storedAuthor(authorship), request: requestOf(authorship), ...notesOf(authorship) }]
}

function groups(changes: readonly Change[]): AuthoredChanges[] {
  const found = new Map<string, AuthoredChanges>()
  for (const change of changes) {
    const { authorship } = change
    if (authorship === undefined) continue
    const author = storedAuthor(authorship)
    const { via, reason } = author
    const key = `${author.time}\n${author.kind}\n${author.command}\n${author.by}\n${via?.claimed}\n${reason}`
    const group = found.get(key) ?? { ...author, changes: [] }
    group.changes.push([requestOf(authorship) ?? null, ...namesOf(change)])
    found.set(key, group)
  }
  return [...found.values()]
}

function storedAuthor({ actor, time }: Authorship): StoredAuthor {
  const { reason } = actor
  if ('command' in actor) {
    const { by, command, via } = actor
    return { kind: undefined, by, command, ...(via === undefined ? {} : { via }), time, reason }
  }
  return { kind: actor.principal?.kind, by: actor.principal?.name, command: undefined, time, reason }
}

function requestOf({ actor }: Authorship): string | undefined {
  return 'command' in actor ? undefined : actor.requestId
}

/** @throws {SyntaxError} if it is not an entry of a node. @throws {NewerFormError} if it has an unknown member. */
export function parseNodeEntry(text: string): NodeEntry {
  const input = parseJson(text)
  if (!isObject(input)) throw malformed()
  checkMembers(input, ['batch', 'start', 'authors'], 'the key of a node')
  const { batch, start, authors } = input
  if (typeof batch !== 'number' || typeof start !== 'string' || !Array.isArray(authors)) throw malformed()
  const [first] = authors
  if (isObject(first) && !('changes' in first)) {
    const { author, notes } = parseImport(first)
    return { batch, start, time: author.time, notes, authorOf: () => author }
  }
  const byName = new Map<string, Authorship>()
  for (const group of authors) takeGroup(group, byName)
  const times = [...byName.values()].map(({ time }) => time).sort()
  return { batch, start, time: times.at(-1), notes: {}, authorOf: (name) => byName.get(name) }
}

function parseImport(input: Record<string, unknown>) {
  checkMembers(input, importMembers, 'the author of imported records')
  return { author: authorship(input, input.request), notes: parseNotes(input) }
}

function takeGroup(group: unknown, byName: Map<string, Authorship>) {
  if (!isObject(group) || !Array.isArray(group.changes)) throw malformed()
  checkMembers(group, groupMembers, 'the author of a batch')
  for (const change of group.changes) {
    if (!Array.isArray(change)) throw malformed()
    const [request, ...names] = change
    const author = authorship(group, request)
    for (const name of names) {
      if (typeof name !== 'string') throw malformed()
      byName.set(name, author)
    }
  }
}

function authorship(author: Record<string, unknown>, request: unknown): Authorship {
  const { time } = author
  if (typeof time !== 'string') throw malformed()
  return { actor: actorOf(author, request), time }
}

function actorOf(author: Record<string, unknown>, request: unknown): Actor {
  const { kind, by, command } = author
  const why = whyIn(author)
  if (typeof command === 'string' && typeof by === 'string') return { command, by, ...viaIn(author), ...why }
  if (typeof request !== 'string') throw malformed()
  if (kind === undefined && by === undefined) return { requestId: request, ...why }
  if ((kind !== 'user' && kind !== 'client') || typeof by !== 'string') throw malformed()
  return { requestId: request, principal: { kind, name: by }, ...why }
}

function malformed(): SyntaxError {
  return new SyntaxError('it does not tell the last batch of a node')
}

/**
 * Removes the keys of nodes that have changed nothing for NODE_KEY_DAYS, now and once a day. The newest of all stays,
 * because it has the revision of the records.
 *
 * @param now In ms since 1970.
 * @returns Stops it.
 */
export function watchNodeKeys(gateway: Gateway, keys: ClusterKeys, log: Log, now: () => number): () => void {
  const clean = () =>
    removeUnused(gateway, keys, now()).then(
      (removed) => {
        if (removed.length > 0) log.info('cluster_nodes_removed', { nodes: removed.join(' ') })
      },
      (error: unknown) => {
        // It is done again tomorrow.
        if (!(error instanceof EtcdError)) log.error('cluster_nodes_not_removed', { reason: String(error) })
      },
    )
  void clean()
  const timer = setInterval(clean, DAY_MS).unref()
  return () => clearInterval(timer)
}

/** @returns The ids of the nodes whose keys are gone. @throws {EtcdError} {SyntaxError} {NewerFormError} */
async function removeUnused(gateway: Gateway, keys: ClusterKeys, now: number): Promise<string[]> {
  const { kvs } = await gateway.range(keys.nodes)
  const newest = Math.max(...kvs.map(({ modRevision }) => modRevision))
  const removed: string[] = []
  for (const { key, value, modRevision } of kvs) {
    const { time } = parseNodeEntry(value)
    const isOld = time === undefined || Date.parse(time) <= now - NODE_KEY_DAYS * DAY_MS
    if (modRevision === newest || !isOld) continue
    const { succeeded } = await gateway.transact({
      compare: [modIs(key, modRevision)],
      success: [remove(key)],
      failure: [],
    })
    if (succeeded) removed.push(keys.nodeOf(key) ?? '')
  }
  return removed
}
