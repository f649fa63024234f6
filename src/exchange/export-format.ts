import type { LongWork } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ExportNotes } from './export-notes.ts'
import type { ToolKind } from './kinds.ts'

/** How records are written for a tool, in UTF-8. */
export interface ExportFormat {
  readonly mediaType: string
  readonly fileName: string
  /** The kind that the tool is for: records that say another one are not meant. */
  readonly kind?: ToolKind
  /** Whether the format is for a record at all; without it, it is for all of the kind. */
  isMeant?(record: Configuration): boolean
  /** Text before, between and after the records. */
  readonly start?: string
  readonly between?: string
  readonly end?: string
  encode(record: Configuration): string
  /** Begins to note what the text behind `end` says of the records. @param count How many records there are in all. */
  begin?(notes: ExportNotes, count: number): ExportTail
  /** Where a connection to a record ends, if the form differs for records that have this alike. */
  addressOf?(record: Configuration): string
  /**
   * The form where some record has labels or `addressOf` like another, if that is another; a function where it depends on
   * other records.
   */
  readonly labelled?: ExportFormat | ((book: RecordBook) => ExportFormat)
  /** Why the format cannot express a record, to complete "The record …"; undefined when it can. */
  obstacle?(record: Configuration): string | undefined
  /** What to know of a record that is in the export; each completes "The record …". */
  warnings?(record: Configuration): readonly string[]
  /** The record's key in the format, unless that is the name; records with equal keys cannot be expressed. */
  keyOf?(record: Configuration): string
}

/** What a form needs to know of other records. */
export interface RecordBook {
  /** Id of the store with these records; '' without a store. */
  readonly store: string
  /** Whether another record has the same `addressOf`. */
  isShared(record: Configuration): boolean
  /** Finds those that others name as hops on their way, whether or not they are in the export. */
  find(name: string): Configuration | undefined
  /** Whether the filter and the kind keep a record. */
  keeps(record: Configuration): boolean
}

/** Text after the records that is about several of them. */
export interface ExportTail {
  /** Notes a record that is in the export. @param position Where it is among all records. */
  take(record: Configuration, position: number): void
  /** Call it once all records were taken. @param records All of them, as they were numbered. */
  settle(records: Iterable<Configuration>): LongWork<void>
  /** The first groups that the format cannot have; their records are in the export. */
  readonly leftOutGroups: readonly string[]
  /** In pieces of about STREAM_PIECE_CHARACTERS, once it is settled. @param records As for `settle`. */
  pieces(records: Iterable<Configuration>): Iterable<string>
}
