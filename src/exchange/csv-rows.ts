import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import type { ExportFormat } from './export-format.ts'
import { encodeLabelCell, parseLabelCell } from './label-cell.ts'
import { countNewlines, faultyRow, nextMatch, type Row, type RowReader, tooLongRow } from './row.ts'

const shared = {
  mediaType: 'text/csv; charset=utf-8; header=present',
  fileName: 'configurations.csv',
}
/** RFC 4180, with a header line and a line end after the last record. */
export const csvFormat: ExportFormat = {
  ...shared,
  start: `${fieldNames.join(',')}\r\n`,
  encode: (record) => `${cellsOf(record)}\r\n`,
  labelled: {
    ...shared,
    start: `${fieldNames.join(',')},labels\r\n`,
    encode: (record) => `${cellsOf(record)},${cellOf(encodeLabelCell(record.labels))}\r\n`,
  },
}

const LINE_FEED = 0x0a
const requiredFields = recordFields.flatMap(({ name, isRequired }) => (isRequired ? name : []))
const known: readonly string[] = [...fieldNames, 'labels', 'id']
const ADVICE = `; write it as: ${requiredFields.join(',')}`

/**
 * Reads RFC 4180 with a header line that names the columns in any order; a column `id` is ignored, and one for labels
 * may be absent. Also accepts lines that end in LF or CR alone.
 */
export function createCsvReader(): RowReader {
  return new CsvReader()
}

class CsvReader implements RowReader {
  #columns: readonly string[] | undefined
  #line = 1
  /** The current record: its first line, length so far, fields, and fault. */
  #first = 1
  #characters = 0
  #fields: string[] = []
  #fault: string | undefined
  #field = ''
  /** `closing`: after a quote in a quoted field; it ends the field or is the first half of `""`. */
  #state: 'start' | 'plain' | 'quoted' | 'closing' = 'start'
  #isAfterReturn = false
  #isOver = false
  #rows: Row[] = []

  read(piece: string): Row[] {
    for (let at = 0; at < piece.length && !this.#isOver; )
      at = this.#takeSome(piece, this.#skipBlankLines(piece, at))
    return this.#rows.splice(0)
  }

  end(): Row[] {
    if (this.#state === 'quoted') this.#fault ??= 'has a quote without an end'
    if (!this.#isOver && this.#characters > 0) this.#endRecord()
    if (this.#columns === undefined && this.#rows.length === 0 && !this.#isOver)
      this.#rows.push(faultyRow(1, `is missing${ADVICE}`, 'header'))
    return this.#rows.splice(0)
  }

  /** Skips blank lines before a record in one step, because a file may have millions. */
  #skipBlankLines(piece: string, at: number): number {
    if (this.#characters > 0 || this.#isAfterReturn) return at
    let end = at
    while (piece.charCodeAt(end) === LINE_FEED) end += 1
    this.#line += end - at
    this.#first = this.#line
    return end
  }

  /** Consumes the text up to and including the next special character; returns the position after it. */
  #takeSome(piece: string, at: number): number {
    const isQuoted = this.#state === 'quoted'
    const end = nextMatch(piece, isQuoted ? quote : specials, at)
    const text = piece.slice(at, end)
    const special = piece.charAt(end)
    this.#characters += text.length + (special === '\n' || special === '\r' ? 0 : special.length)
    if (this.#characters > IMPORT_ROW_CHARACTERS_MAX) {
      this.#isOver = true
      this.#rows.push(tooLongRow(this.#first))
      return piece.length
    }
    if (text !== '') {
      this.#isAfterReturn = false
      if (this.#state === 'closing') this.#fault ??= 'has something behind a quoted field'
      if (!isQuoted) this.#state = 'plain'
      else this.#line += countNewlines(text)
      this.#field += text
    }
    if (special !== '') this.#takeSpecial(special)
    return end + 1
  }

  #takeSpecial(special: string) {
    const isLineEnded = special === '\n' && this.#isAfterReturn
    this.#isAfterReturn = special === '\r'
    if (special === '"') this.#takeQuote()
    else if (special === ',') this.#endField()
    else if (!isLineEnded) {
      this.#line += 1
      this.#endRecord()
    } else this.#first = this.#line
  }

  #takeQuote() {
    if (this.#state === 'plain') {
      // A stray quote opens nothing, so that one bad line cannot swallow the next.
      this.#fault ??= 'has a quote inside a field without quotes'
      return
    }
    if (this.#state === 'closing') this.#field += '"'
    this.#state = this.#state === 'quoted' ? 'closing' : 'quoted'
  }

  #endField() {
    this.#fields.push(this.#field)
    this.#field = ''
    this.#state = 'start'
  }

  #endRecord() {
    const isBlank = this.#characters === 0
    this.#endField()
    const line = this.#first
    const fields = this.#fields
    const fault = this.#fault
    this.#first = this.#line
    this.#characters = 0
    this.#fields = []
    this.#fault = undefined
    if (isBlank) return
    if (fault !== undefined) this.#rows.push(faultyRow(line, fault))
    else if (this.#columns === undefined) this.#takeHeader(line, fields)
    else if (fields.every((field) => field === '')) this.#rows.push({ line, isEmpty: true })
    else this.#rows.push(rowOf(line, this.#columns, fields))
  }

  /** A bad header ends the reading. */
  #takeHeader(line: number, columns: readonly string[]) {
    this.#columns = columns
    const fault = faultOfHeader(columns)
    if (fault === undefined) return
    this.#isOver = true
    this.#rows.push(faultyRow(line, fault + ADVICE, 'header'))
  }
}

function rowOf(line: number, columns: readonly string[], values: readonly string[]): Row {
  if (values.length !== columns.length)
    return faultyRow(line, `has ${values.length} fields, and the header has ${columns.length}`)
  const fields: Record<string, unknown> = {}
  for (const { name, isRequired, parse } of recordFields) {
    const text = values[columns.indexOf(name)]
    if (text !== undefined) fields[name] = text === '' && !isRequired ? null : parse(text)
  }
  const cell = values[columns.indexOf('labels')]
  if (cell === undefined) return { line, fields }
  let detail: string | undefined
  const labels = parseLabelCell(cell, (found) => {
    detail ??= found
  })
  if (detail !== undefined) return { line, fault: { field: 'labels', detail } }
  fields.labels = labels
  return { line, fields }
}

function faultOfHeader(columns: readonly string[]): string | undefined {
  const unknown = columns.find((column) => !known.includes(column))
  if (unknown !== undefined) return `names ${JSON.stringify(unknown)}, which is no field`
  const missing = requiredFields.find((column) => !columns.includes(column))
  if (missing !== undefined) return `does not name ${missing}`
  return new Set(columns).size < columns.length ? 'names a field twice' : undefined
}

const specials = /[",\r\n]/g
const quote = /"/g

function cellsOf(record: Configuration): string {
  let line = ''
  for (const name of fieldNames) line += `${line === '' ? '' : ','}${cellOf(record[name])}`
  return line
}

/** Quotes leading and trailing blanks too: some programs drop them from a bare field. */
function cellOf(value: string | number = ''): string | number {
  return typeof value === 'string' && /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
