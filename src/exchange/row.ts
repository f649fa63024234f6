import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'

/** A record as it stands in a file, or what is wrong with what stands there instead. */
export type Row = RecordRow | FaultyRow

export interface RecordRow {
  readonly line: number
  readonly fields: Record<string, unknown>
}

export interface FaultyRow {
  readonly line: number
  readonly fault: { readonly field: string; readonly detail: string }
}

/** Takes a text apart, piece by piece, into rows; lines are counted from 1. */
export interface RowReader {
  /** The rows that end in this piece of the text, which may begin and end anywhere. */
  read(piece: string): Row[]
  /** The rows that end with the text. */
  end(): Row[]
}

/** @param field What of the row is wrong; `row` for all of it. */
export function faultyRow(line: number, detail: string, field = 'row'): FaultyRow {
  return { line, fault: { field, detail } }
}

/** Behind such a row nothing is read. */
export function tooLongRow(line: number): FaultyRow {
  return faultyRow(line, `is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`)
}

/** Where a text matches next; its end when it does not. @param pattern With the flag `g`. */
export function nextMatch(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** How often a line ends in a text. */
export function countNewlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
