import { textsOf, type Version } from './changes.ts'
import { recordCount } from './figure-text.ts'

/** A change of one record, or of many that are only counted, as the API sends it. */
export interface HistoryEntry {
  readonly time: string
  readonly event: string
  readonly by?: string
  /** `user`, `client` or `command`. */
  readonly kind?: string
  /** Only of a command: its words. */
  readonly command?: string
  /** What the caller says of himself. */
  readonly via?: { readonly claimed?: string }
  readonly reason?: string
  /** Absent for a change of many. */
  readonly id?: number
  /** The name before the change; absent for a change of many. */
  readonly name?: string
  readonly changed?: ChangedMembers
  /** The record that was added or deleted. */
  readonly record?: Version
  readonly added?: number
  readonly modified?: number
  readonly removed?: number
  /** The filters that kept the records. */
  readonly query?: string
  /** SHA-256 of the whole query, if `query` is only its beginning. */
  readonly query_sha256?: string
}

/** What a modification did, by field or `labels.KEY`; null for what was not there. */
export type ChangedMembers = Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>

/** What a change did to one field or label; what was not there is undefined. */
export interface FieldChange {
  readonly field: string
  readonly before: string | undefined
  readonly after: string | undefined
}

const verbs: Readonly<Record<string, string>> = {
  configuration_added: 'added it',
  configuration_modified: 'changed it',
  configuration_deleted: 'deleted it',
}

/** What somebody did, in words; an event that is not known keeps its name. */
export function verbOf({ event }: HistoryEntry): string {
  return verbs[event] ?? event
}

/** The same without the record. */
export function actOf(entry: HistoryEntry): string {
  return verbOf(entry).replace(/ it$/, '')
}

/** Whether it is about many records that are only counted. */
export function isCounted({ event }: HistoryEntry): boolean {
  return event.startsWith('configurations_')
}

export function isDeletion({ event }: HistoryEntry): boolean {
  return event === 'configuration_deleted'
}

/** What was done to records that are only counted. */
export function countedText(entry: HistoryEntry): string {
  const { event, added = 0, modified = 0, removed = 0, query, query_sha256 } = entry
  const more = query_sha256 === undefined ? '' : '…'
  const kept = query === undefined || query === 'all=1' ? '' : ` (${query}${more})`
  if (event === 'configurations_removed') return `deleted ${recordCount(removed)}${kept}`
  if (event === 'configurations_changed') return `changed ${recordCount(modified)}${kept}`
  return `imported: ${recordCount(added)} added, ${modified} modified, ${removed} removed`
}

/** The name that the record of an entry had after it. */
export function nameAfter({ name = '', changed }: HistoryEntry): string {
  return String(changed?.name?.after ?? name)
}

/** The deletions after which a record got the same name again. @param entries Newest first, without a gap. */
export function namesTakenAgain(entries: readonly HistoryEntry[]): ReadonlySet<HistoryEntry> {
  const isTaken = new Map<string, boolean>()
  const say = (name: string, taken: boolean) => {
    if (!isTaken.has(name)) isTaken.set(name, taken)
  }
  const again = entries.filter((entry) => {
    const { name = '', changed } = entry
    if (isCounted(entry)) return false
    if (isDeletion(entry)) {
      say(name, false)
      return isTaken.get(name)
    }
    say(nameAfter(entry), true)
    if (changed?.name !== undefined) say(name, false)
    return false
  })
  return new Set(again)
}

/** The fields that a change gave, took or replaced. */
export function changesBetween({ event, changed, record }: HistoryEntry): readonly FieldChange[] {
  if (changed !== undefined) return fieldChanges(changed)
  const isGone = event === 'configuration_deleted'
  return Array.from(record === undefined ? [] : textsOf(record), ([field, text]) => ({
    field,
    before: isGone ? text : undefined,
    after: isGone ? undefined : text,
  }))
}

/** What a modification did, as texts. */
export function fieldChanges(changed: ChangedMembers): readonly FieldChange[] {
  return Object.entries(changed).map(([field, { before, after }]) => ({
    field,
    before: textOf(before),
    after: textOf(after),
  }))
}

/** What has become of the record that once had a name. */
export type Fate = { readonly deleted: HistoryEntry } | { readonly renamed: string }

/**
 * Finds it in the record's history.
 *
 * @param history Newest first, of the last record that had the name.
 * @returns Undefined if the history does not say.
 */
export function fateOf(history: readonly HistoryEntry[]): Fate | undefined {
  const [newest] = history
  if (newest?.event === 'configuration_deleted') return { deleted: newest }
  const name = history.find(({ changed }) => changed?.name !== undefined)?.changed?.name?.after
  return typeof name === 'string' ? { renamed: name } : undefined
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : String(value)
}
