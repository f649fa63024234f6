import { IMPORT_ROW_CHARACTERS_MAX, NAME_CHARACTERS_MAX } from '../limits.ts'
import type { LabelsPatch } from '../store/labels.ts'
import { checkText } from '../text.ts'

/** A record as the file has it, or its fault; `line` is its first. */
export type Row = RecordRow | FaultyRow | LeftOutRow

export interface RecordRow {
  /** Absent where the form has no lines of its own. */
  readonly line?: number
  readonly fields: Record<string, unknown>
  /** For formats that can express only some labels; the record's other labels stay. */
  readonly labelsPatch?: LabelsPatch
  /** Keys of the patch as in `ImportedConfiguration`. */
  readonly looseKeys?: readonly string[]
  /** Where values stand that are not on `line`, by the field that a fault of them names. */
  readonly lines?: Readonly<Record<string, number>>
  /** What the format itself finds wrong. Fields that these name are not checked again. */
  readonly faults?: readonly RowFault[]
  /** Whether faulty rows before it were of it: then it is none without a fault. */
  readonly isFaulty?: boolean
  /** As in `FaultyRow`, for the faults that its values have. */
  readonly isOfFile?: boolean
}

/** A fault as it is found in a file. */
export interface FoundFault {
  readonly line?: number
  readonly name?: string
  readonly field: string
  readonly detail: string
  /** An included file that has the line; undefined for the file that was named. */
  readonly file?: string | undefined
  /** Its place among the lines of all files; the line, if absent. */
  readonly order?: number | undefined
  /** Whether it is one with those that differ only in their line, or in their record. */
  readonly isShared?: boolean | undefined
  /** Whether it changes where a connection goes: such faults are named first. */
  readonly isWay?: boolean | undefined
  /** Records that it is for, if they are several. */
  readonly hosts?: number | undefined
}

export type RowFault = Pick<FoundFault, 'line' | 'field' | 'detail' | 'isShared' | 'isWay'>

export interface FaultyRow {
  readonly line?: number
  readonly fault: Pick<FoundFault, 'field' | 'detail' | 'name' | 'isShared' | 'isWay' | 'hosts'>
  /** Whether other rows may be lost with it: then it cannot be left out, and nothing is imported. */
  readonly isOfFile?: boolean
}

interface LeftOutRow {
  readonly line: number
  /** `empty`: nothing but separators, as spreadsheets write where a row was used once. `unwanted`: by the caller. */
  readonly leftOut: 'empty' | 'unwanted'
}

/** Lines that a fault or a warning names, of those that have the same. */
export const LINES_LISTED_MAX = 3

/** Something that is not imported, and no fault. */
export interface ImportWarning {
  readonly line?: number
  readonly name?: string
  readonly detail: string
}

/** A column as the file names it. */
export interface ReadColumn {
  readonly column: string
  /** A field, `labels` or `label.KEY`; null if it is left out, absent if the caller still has to say. */
  readonly becomes?: string | null
  /** Left out because its name says a secret; nothing can change that. */
  readonly secret?: true
}

/** Splits a text, given in pieces, into rows; lines count from 1. */
export interface RowReader {
  /** The rows that end in this piece; pieces may be cut anywhere. */
  read(piece: string): Row[]
  /** The rows that end with the text; last call. Undefined where a pause may be made. */
  end(): Iterable<Row | undefined>
  /** For CSV: how it was read, once the header has come. */
  readonly separator?: string | undefined
  readonly columns?: readonly ReadColumn[] | undefined
  readonly warnings?: readonly ImportWarning[] | undefined
  /** Estimated memory of what it keeps until the end; none if absent. */
  readonly bytes?: number
}

/** @param field The faulty part; `row` for the whole row. */
export function faultyRow(line: number | undefined, detail: string, field = 'row'): FaultyRow {
  return { ...(line === undefined ? {} : { line }), fault: { field, detail } }
}

/** The name of a record, if it is fit to be shown. */
export function namedBy({ name }: { readonly name?: unknown }): { name?: string } {
  return typeof name === 'string' && checkText(name, NAME_CHARACTERS_MAX) === undefined ? { name } : {}
}

export function tooLongRow(line: number): FaultyRow {
  const detail = `is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`
  return { line, fault: { field: 'row', detail }, isOfFile: true }
}

/** Position of the next match, or the end of the text. @param pattern With the flag `g`. */
export function nextMatch(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

export function countNewlines(text: string): number {
  return countOf('\n', text)
}

export function countOf(character: string, text: string): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count += 1
  return count
}
