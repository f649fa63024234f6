import { parseJson } from '../json.ts'
import type { Alteration, Change } from '../store/change.ts'
import { parseStoredRecord } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { WatchEvent } from './messages.ts'
import type { NodeEntry } from './node-entry.ts'

/**
 * Reads a stored record.
 *
 * @throws {SyntaxError} if it is not a record, has another name, or is not written as connbook writes it: changes are compared with
 *   the text. {NewerFormError}
 */
export function parseRecordValue(name: string, value: string): Configuration {
  const record = parseStoredRecord(parseJson(value))
  if (record === undefined || record.name !== name) throw new SyntaxError('it is no record of its name')
  if (JSON.stringify(record) !== value)
    throw new SyntaxError('it is a record, but written by another program')
  return record
}

/**
 * The changes that the events of one revision stand for, in their order.
 *
 * @param find The record that has a name before them.
 * @param entry The entry of the node that made them.
 * @throws {SyntaxError} {NewerFormError} for a value that is not a record.
 */
export function changesOfRevision(
  events: readonly WatchEvent[],
  keys: ClusterKeys,
  find: (name: string) => Configuration | undefined,
  entry: NodeEntry | undefined,
): Change[] {
  /** The records that lose their name, by id: one that gets another name is there again. */
  const gone = new Map<number, string>()
  const put: Configuration[] = []
  for (const event of events) {
    const name = keys.nameOf(event.kind === 'put' ? event.kv.key : event.key)
    if (name === undefined) continue
    const before = find(name)
    if (event.kind === 'put') put.push(parseRecordValue(name, event.kv.value))
    else if (before !== undefined) gone.set(before.id, name)
  }
  const alterations: Alteration[] = []
  for (const record of put) {
    const oldName = gone.get(record.id)
    gone.delete(record.id)
    if (oldName !== undefined) alterations.push({ modify: record, name: oldName })
    else if (find(record.name)?.id === record.id) alterations.push({ modify: record, name: record.name })
    else alterations.push({ add: record })
  }
  // A name must be free before another record gets it.
  const ordered = [...[...gone.values()].map((name): Alteration => ({ remove: name })), ...byId(alterations)]
  return entry === undefined ? ordered : ordered.map((change, i) => signed(change, i === 0, entry))
}

/** Ids of records that are added must rise. */
function byId(alterations: Alteration[]): Alteration[] {
  const idOf = (change: Alteration) => ('add' in change ? change.add.id : 0)
  return alterations.sort((a, b) => idOf(a) - idOf(b))
}

function signed(change: Alteration, isFirst: boolean, entry: NodeEntry): Change {
  const name = 'remove' in change ? change.remove : 'modify' in change ? change.name : change.add.name
  const authorship = entry.authorOf(name)
  if (authorship === undefined) return change
  return { ...change, authorship: isFirst ? { ...authorship, ...entry.notes } : authorship }
}

/** Events in the order of revisions, each with those of the same one. */
export function* byRevision(
  events: readonly WatchEvent[],
): Generator<readonly [revision: number, events: readonly WatchEvent[]]> {
  let from = 0
  while (from < events.length) {
    const revision = revisionOf(events[from])
    let to = from + 1
    while (to < events.length && revisionOf(events[to]) === revision) to += 1
    yield [revision, events.slice(from, to)]
    from = to
  }
}

function revisionOf(event: WatchEvent | undefined): number {
  if (event === undefined) return 0
  return event.kind === 'put' ? event.kv.modRevision : event.modRevision
}
