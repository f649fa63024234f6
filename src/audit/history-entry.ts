import { isObject } from '../json.ts'
import type { Configuration } from '../store/configuration.ts'
import type { TrailLine } from './trail-lines.ts'

export const changeEvents = [
  'configuration_added',
  'configuration_modified',
  'configuration_deleted',
] as const
export const countedEvents = [
  'configurations_imported',
  'configurations_changed',
  'configurations_removed',
] as const

/** A change of a record, without what only the operator may know. */
export interface HistoryEntry extends Who {
  readonly time: string
  readonly event: (typeof changeEvents)[number]
  readonly id?: number
  /** The record's name before the change; the name of a record that is added. */
  readonly name?: string
  readonly changed?: Readonly<Record<string, unknown>>
  readonly record?: Readonly<Record<string, unknown>>
}

/** A change of many records of which the trail has only the counts, which come with it. */
export interface CountedEntry extends Who {
  readonly time: string
  readonly event: (typeof countedEvents)[number]
  readonly [count: string]: unknown
}

interface Who {
  readonly by?: string
  readonly kind?: string
  readonly command?: string
  /** Who used `sudo` for it, as that said. */
  readonly via?: { readonly claimed: string }
  /** Why, in the caller's words. */
  readonly reason?: string
}

/** What a line of a change of many says besides who made it. */
const countedMembers = [
  'mode',
  'matched',
  'added',
  'modified',
  'removed',
  'unchanged',
  'changed',
  'query_sha256',
  'query',
]

/** Undefined for a line that is not about a change of one record. */
export function entryOf(line: TrailLine): HistoryEntry | undefined {
  const { time, event, changed, record } = line
  const known = changeEvents.find((one) => one === event)
  if (known === undefined || typeof time !== 'string') return undefined
  const id = idOf(line)
  const name = isObject(record) ? record.name : line.name
  return {
    time,
    event: known,
    ...whoOf(line),
    ...(id === undefined ? {} : { id }),
    ...(typeof name === 'string' ? { name } : {}),
    ...(isObject(changed) ? { changed } : {}),
    ...(isObject(record) ? { record } : {}),
    ...whyOf(line),
  }
}

/** The entry of a change of which not all is seen: into sight it is an addition, out of it a deletion. */
export function entryAsSeen(
  entry: HistoryEntry,
  {
    before,
    after,
  }: { readonly before: Configuration | undefined; readonly after: Configuration | undefined },
): HistoryEntry {
  if (entry.event !== 'configuration_modified' || (before !== undefined && after !== undefined)) return entry
  const record = after ?? before
  if (record === undefined) return entry
  const { changed: _, ...kept } = entry
  const event = after === undefined ? 'configuration_deleted' : 'configuration_added'
  return { ...kept, event, name: record.name, record: { ...record } }
}

/** Undefined for a line that is not about changes that were made together. */
export function countedEntryOf(line: TrailLine): CountedEntry | undefined {
  const { time, event } = line
  const known = countedEvents.find((one) => one === event)
  if (known === undefined || typeof time !== 'string') return undefined
  const counts = countedMembers.flatMap((member) =>
    line[member] === undefined ? [] : [[member, line[member]] as const],
  )
  return { time, event: known, ...whoOf(line), ...Object.fromEntries(counts), ...whyOf(line) }
}

/** The id of the record that a line is about. */
export function idOf({ record, id }: TrailLine): number | undefined {
  const named = isObject(record) ? record.id : id
  return typeof named === 'number' ? named : undefined
}

function whoOf({ by, kind, command, via }: TrailLine): Who {
  const isCommand = typeof command === 'string'
  return {
    ...(typeof by === 'string' ? { by } : {}),
    ...(isCommand ? { kind: 'command', command } : {}),
    ...(typeof kind === 'string' && !isCommand ? { kind } : {}),
    ...(isObject(via) && typeof via.claimed === 'string' ? { via: { claimed: via.claimed } } : {}),
  }
}

function whyOf({ reason }: TrailLine): Who {
  return typeof reason === 'string' ? { reason } : {}
}
