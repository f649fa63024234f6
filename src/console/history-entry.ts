import { textsOf, type Version } from './changes.ts'

/** One change of a record, as the API sends it. */
export interface HistoryEntry {
  readonly time: string
  readonly event: string
  readonly by?: string
  /** `user`, `client` or `command`. */
  readonly kind?: string
  /** Only of a command: its words. */
  readonly command?: string
  readonly changed?: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>
  /** The record that was added or deleted. */
  readonly record?: Version
}

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

/** The fields that a change gave, took or replaced. */
export function changesBetween({ event, changed, record }: HistoryEntry): readonly FieldChange[] {
  if (changed !== undefined)
    return Object.entries(changed).map(([field, { before, after }]) => ({
      field,
      before: textOf(before),
      after: textOf(after),
    }))
  const isGone = event === 'configuration_deleted'
  return Array.from(record === undefined ? [] : textsOf(record), ([field, text]) => ({
    field,
    before: isGone ? text : undefined,
    after: isGone ? undefined : text,
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
