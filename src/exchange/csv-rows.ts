import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import { CsvColumns, countKnown } from './csv-columns.ts'
import { type CsvRecord, CsvRecords, lineEnd } from './csv-records.ts'
import type { ExportFormat } from './export-format.ts'
import { type ImportOptions, noImportOptions, separators } from './import-options.ts'
import { encodeLabelCell } from './label-cell.ts'
import {
  faultyRow,
  type ImportWarning,
  nextMatch,
  type ReadColumn,
  type Row,
  type RowReader,
  tooLongRow,
} from './row.ts'

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

const requiredFields = recordFields.flatMap(({ name, isRequired }) => (isRequired ? name : []))
const ADVICE = `; write it as: ${requiredFields.join(',')}`
/** A first line by which Excel says what separates the columns. */
const SEPARATOR_LINE = /^"?sep=(.)?"?[,;\t|]*$/i

/**
 * Reads CSV as spreadsheets write it: RFC 4180, with any separator that `separators` has, and lines that end in CR LF, LF or
 * CR. The header names the columns in any order.
 */
export function createCsvReader(options: ImportOptions = noImportOptions): RowReader {
  return new CsvReader(options)
}

class CsvReader implements RowReader {
  readonly #options: ImportOptions
  readonly #records = new CsvRecords()
  readonly #header = new HeaderText()
  #separator: string | undefined
  #isSeparated = false
  /** Whether a line that names the separator was read. */
  #isSeparatorNamed = false
  #columns: CsvColumns | undefined
  #isOver = false

  constructor(options: ImportOptions) {
    this.#options = options
    this.#separator = options.separator
  }

  get separator(): string | undefined {
    return this.#columns && this.#separator
  }

  get columns(): readonly ReadColumn[] | undefined {
    return this.#columns?.columns
  }

  get warnings(): readonly ImportWarning[] | undefined {
    return this.#columns?.warnings
  }

  read(piece: string): Row[] {
    if (this.#isOver) return []
    return this.#rowsOf(this.#isSeparated ? this.#records.read(piece) : this.#readHeader(piece))
  }

  end(): Row[] {
    if (this.#isOver) return []
    const begun = this.#isSeparated ? [] : this.#separate(this.#header.end())
    const rows = this.#rowsOf([...begun, ...this.#records.end()])
    if (this.#columns === undefined && rows.length === 0)
      return [faultyRow(1, `is missing${ADVICE}`, 'header')]
    return rows
  }

  /** Holds the text back up to the end of the header, which says what separates its columns. */
  #readHeader(piece: string): CsvRecord[] {
    const records: CsvRecord[] = []
    for (let text = piece; ; ) {
      const [blank, header, rest] = this.#header.read(text)
      this.#records.read(blank)
      if (header === undefined) return records
      const [, named] = SEPARATOR_LINE.exec(header) ?? []
      if (/^[,;\t|]*$/.test(header)) records.push({ line: this.#records.line, fields: [] })
      else if (named === undefined || this.#isSeparatorNamed)
        return [...records, ...this.#separate(header + rest, header)]
      else this.#takeNamed(named, records)
      text = rest
    }
  }

  #takeNamed(named: string, records: CsvRecord[]) {
    this.#isSeparatorNamed = true
    this.#separator ??= named
    if (separators.some((known) => known === named)) return
    const fault = `names the separator ${JSON.stringify(named)}; only ",", ";", "|" and a tab can be read`
    records.push({ line: this.#records.line, fields: [], fault })
  }

  #separate(text: string, header = text): CsvRecord[] {
    this.#separator ??= separatorOf(header, this.#options)
    this.#records.separateBy(this.#separator)
    this.#isSeparated = true
    return this.#records.read(text)
  }

  #rowsOf(records: readonly CsvRecord[]): Row[] {
    const rows: Row[] = []
    for (const { line, fields, fault, isTooLong, isSpread = false } of records) {
      if (this.#isOver) break
      if (fault === undefined && isTooLong !== true && fields.every((field) => field === ''))
        rows.push({ line, leftOut: 'empty' })
      else if (this.#columns === undefined) this.#takeHeader(line, fields, rows, fault, isTooLong)
      else if (isTooLong === true) rows.push(tooLongRow(line))
      else {
        const row = fault === undefined ? this.#columns.rowOf(line, fields) : faultyRow(line, fault)
        rows.push(isSpread ? judgeSpread(row) : row)
      }
    }
    return rows
  }

  /** A bad header ends the reading. */
  #takeHeader(line: number, fields: readonly string[], rows: Row[], fault?: string, isTooLong = false) {
    if (isTooLong) rows.push(tooLongRow(line))
    else if (fault !== undefined) rows.push(faultyRow(line, fault, 'header'))
    else this.#columns = new CsvColumns(fields, line, this.#options)
    const faults = this.#columns?.faults
    rows.push(...(faults ?? []))
    this.#isOver = faults?.length !== 0
  }
}

/** A row with a line end in quotes. If it is at fault, a quote may be missing, and the rows behind it are in its field. */
function judgeSpread(row: Row): Row {
  if ('fault' in row) return { ...row, isOfFile: true }
  if ('leftOut' in row || !Object.values(row.fields).some(hasLineEnd)) return row
  return { ...row, isOfFile: true }
}

/** Such a text is at fault in each field. */
function hasLineEnd(value: unknown): boolean {
  return typeof value === 'string' && lineEnd.test(value)
}

/** The separator that splits a header into the most known names. */
function separatorOf(header: string, options: ImportOptions): string {
  const found = separators.map((separator) => {
    const records = new CsvRecords()
    records.separateBy(separator)
    const fields = [...records.read(header), ...records.end()][0]?.fields ?? []
    return { separator, known: countKnown(fields, options), columns: fields.length }
  })
  found.sort((a, b) => b.known - a.known || b.columns - a.columns)
  return found[0]?.separator ?? ','
}

/** Finds the end of the header in a text that comes in pieces, before it is known what separates its columns. */
class HeaderText {
  #text = ''
  #scanned = 0
  #isQuoted = false
  #closedAt = -2
  /** Blank lines before the header, the header, and what is behind it; no header while it has no end. */
  read(piece: string): [blank: string, header: string | undefined, rest: string] {
    const blank = this.#text === '' ? (/^[\r\n]*/.exec(piece)?.[0] ?? '') : ''
    this.#text += piece.slice(blank.length)
    const end = this.#findEnd()
    if (end === undefined) return [blank, undefined, '']
    const [header, rest] = [this.#text.slice(0, end), this.#text.slice(end)]
    this.#text = ''
    this.#scanned = 0
    this.#isQuoted = false
    return [blank, header, rest]
  }

  end(): string {
    return this.#text
  }

  #findEnd(): number | undefined {
    const text = this.#text
    for (let at = nextMatch(text, lineSpecials, this.#scanned); at < text.length; ) {
      if (at > IMPORT_ROW_CHARACTERS_MAX) return text.length
      if (text[at] !== '"') {
        if (!this.#isQuoted) return at
      } else if (this.#isQuoted) {
        this.#isQuoted = false
        this.#closedAt = at
      } else this.#isQuoted = at === 0 || at === this.#closedAt + 1 || /[,;\t|]/.test(text[at - 1] ?? '')
      at = nextMatch(text, lineSpecials, at + 1)
    }
    this.#scanned = text.length
    return text.length > IMPORT_ROW_CHARACTERS_MAX ? text.length : undefined
  }
}

const lineSpecials = /["\r\n]/g

function cellsOf(record: Configuration): string {
  let line = ''
  for (const name of fieldNames) line += `${line === '' ? '' : ','}${cellOf(record[name])}`
  return line
}

/** Quotes leading and trailing blanks too: some programs drop them from a bare field. */
function cellOf(value: string | number = ''): string | number {
  return typeof value === 'string' && /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
