import type { Labels } from '../store/labels.ts'
import type { Version } from './changes.ts'
import { type Configuration, fieldNames } from './configuration.ts'
import type { HistoryEntry } from './history-entry.ts'

/** How a record was: its fields and labels; undefined while it was not there. */
export type Former = (Omit<Configuration, 'id'> & { readonly labels: Labels }) | undefined

/** The history of a record, newest first, and from when on it is complete. */
export interface KnownHistory {
  readonly history: readonly HistoryEntry[]
  readonly since?: string
}

/** Whether the history has all changes since this one. */
export function isCovered({ time }: HistoryEntry, { since }: KnownHistory): boolean {
  return since === undefined || Date.parse(time) >= Date.parse(since)
}

/**
 * How a record was before one of its changes, behind all changes since.
 *
 * @param present The record now; undefined if it is not there.
 * @param place Where the change stands in the history.
 * @returns `unknown` if the history has gaps, or does not fit the record.
 */
export function stateBefore(
  present: Configuration | undefined,
  known: KnownHistory,
  place: number,
): { readonly record: Former } | 'unknown' {
  const entries = known.history.slice(0, place + 1)
  const oldest = entries.at(-1)
  if (oldest === undefined || !isCovered(oldest, known)) return 'unknown'
  let state = present === undefined ? undefined : membersOf(present)
  for (const entry of entries) {
    const before = takeBack(state, entry)
    if (before === 'unknown') return 'unknown'
    state = before
  }
  return { record: state === undefined ? undefined : recordOf(state) }
}

/** The record that an entry of the history has. */
export function formerOf(record: Version): Former {
  return recordOf(membersOf(record))
}

/** Fields, and labels as `labels.KEY`. */
type Members = ReadonlyMap<string, unknown>

function takeBack(state: Members | undefined, entry: HistoryEntry): Members | undefined | 'unknown' {
  const { event, changed, record } = entry
  if (event === 'configuration_added') return state === undefined ? 'unknown' : undefined
  if (event === 'configuration_deleted')
    return state !== undefined || record === undefined ? 'unknown' : membersOf(record)
  if (state === undefined || changed === undefined) return 'unknown'
  const members = new Map(state)
  for (const [field, { before, after }] of Object.entries(changed)) {
    if ((members.get(field) ?? null) !== (after ?? null)) return 'unknown'
    if (before === null || before === undefined) members.delete(field)
    else members.set(field, before)
  }
  return members
}

function membersOf({ labels = {}, ...fields }: Version): Members {
  return new Map<string, unknown>([
    ...fieldNames.flatMap((name): [string, unknown][] =>
      fields[name] === undefined ? [] : [[name, fields[name]]],
    ),
    ...Object.entries(labels).map(([key, value]): [string, unknown] => [LABEL + key, value]),
  ])
}

const LABEL = 'labels.'

function recordOf(members: Members): Former {
  const entries = [...members]
  const labels = entries
    .filter(([name]) => name.startsWith(LABEL))
    .map(([name, value]) => [name.slice(LABEL.length), value])
  const fields = entries.filter(([name]) => !name.startsWith(LABEL))
  return { ...Object.fromEntries(fields), labels: Object.fromEntries(labels) } as Former
}
