import type { Fault } from '../errors.ts'
import { IMPORT_ROW_MEMORY_BYTES, IMPORT_ROWS_MAX, NAME_CHARACTERS_MAX } from '../limits.ts'
import { type LongWork, runAtOnce } from '../scheduler.ts'
import type { ImportedConfiguration, NewConfiguration } from '../store/configuration.ts'
import { importRowMemory } from '../store/import-plan.ts'
import { checkText, counted } from '../text.ts'
import { createAnsibleReader } from './ansible-rows.ts'
import { createCsvReader } from './csv-rows.ts'
import { type ImportOptions, noImportOptions } from './import-options.ts'
import { type ImportEncoding, ImportTextDecoder } from './import-text.ts'
import { createJsonlReader, createJsonReader } from './json-rows.ts'
import { parseRow } from './parsed-row.ts'
import { createPgServiceReader } from './pg-service-rows.ts'
import {
  type ImportWarning,
  LINES_LISTED_MAX,
  type ReadColumn,
  type RecordRow,
  type Row,
  type RowReader,
} from './row.ts'
import { createSshConfigReader } from './ssh-config-rows.ts'

export const rowReaders = {
  json: createJsonReader,
  jsonl: createJsonlReader,
  csv: createCsvReader,
  'ssh-config': createSshConfigReader,
  'pg-service': createPgServiceReader,
  ansible: createAnsibleReader,
} satisfies Record<string, (options?: ImportOptions) => RowReader>
export const importFormatNames = Object.keys(rowReaders) as ImportFormatName[]

export interface ImportedRecords {
  /** In the order of the file, with unique names; incomplete when there are faults. */
  readonly drafts: readonly ImportedConfiguration[]
  /** The first faults that were found, sorted by line; one for all rows that cannot be read for the same reason. */
  readonly faults: readonly Fault[]
  /** All faults, also those not kept. */
  readonly faultCount: number
  /** At most WARNINGS_MAX. */
  readonly warnings: readonly ImportWarning[]
  readonly read: ReadForm
  /** Where the record of a name is; undefined if the form has no lines. */
  readonly lineOf: (name: string) => number | undefined
}

/** How a file was read. */
export interface ReadForm {
  readonly encoding: ImportEncoding
  /** Only of CSV. */
  readonly separator?: string
  readonly columns?: readonly ReadColumn[]
  /** The first records without a fault, at most FIRST_RECORDS; a label that the file removes is not there. */
  readonly first: readonly NewConfiguration[]
}

const MEBIBYTE = 1024 * 1024
export const WARNINGS_MAX = 100
export const FIRST_RECORDS = 5

/** Reads records from a file in pieces. */
export class ImportReader {
  readonly #reader: RowReader
  readonly #rowsMax: number
  readonly #memoryMax: number
  readonly #decoder = new ImportTextDecoder()
  /** Where the names that have been read are. */
  readonly #lines = new Map<string, number>()
  readonly #drafts: ImportedConfiguration[] = []
  readonly #faults: KeptFaults
  #firstEmpty: number | undefined
  #emptyCount = 0
  #rows = 0
  /** Estimated bytes of what has been made of the rows. */
  #memory = 0
  /** Whether a limit was exceeded: then nothing more is read. */
  #isOver = false
  #hasLines = false

  /**
   * @param faultsMax How many faults are kept; the rest is only counted.
   * @param memoryMax Bytes that all that is made of the rows may take.
   */
  constructor(
    format: ImportFormatName,
    faultsMax: number,
    { rowsMax = IMPORT_ROWS_MAX, memoryMax = Number.POSITIVE_INFINITY, options = noImportOptions } = {},
  ) {
    this.#reader = rowReaders[format](options)
    this.#faults = new KeptFaults(faultsMax)
    this.#rowsMax = rowsMax
    this.#memoryMax = memoryMax
  }

  /** @throws {InvalidInputError} as `ImportTextDecoder.decode` does; then nothing more can be read. */
  read(bytes: Uint8Array): void {
    if (this.#isOver) return
    for (const row of this.#reader.read(this.#decoder.decode(bytes))) this.#takeRow(row)
    if (!this.#isOver) this.#addMemory({}, 0)
  }

  /** Throws as `read` does. */
  end(): ImportedRecords {
    return runAtOnce(this.finish())
  }

  /** As `end`, in slices. */
  *finish(): LongWork<ImportedRecords> {
    if (this.#isOver) return this.#result()
    for (const row of this.#reader.read(this.#decoder.end())) this.#takeRow(row)
    for (const row of this.#reader.end()) {
      if (row === undefined) yield
      else this.#takeRow(row)
      if (this.#isOver) break
    }
    return this.#result()
  }

  #takeRow(row: Row): void {
    if (this.#isOver) return
    this.#rows += 1
    this.#hasLines ||= 'line' in row && row.line !== undefined
    if (this.#rows > this.#rowsMax) {
      const detail = `has more than ${this.#rowsMax} rows; nothing behind them was read; make it several files`
      this.#endAt(row, detail)
    } else if ('leftOut' in row) {
      if (row.leftOut !== 'empty') return
      this.#emptyCount += 1
      this.#firstEmpty ??= row.line
    } else if ('fault' in row) {
      this.#faults.add({ ...placeOf(row), ...row.fault }, row.fault.name === undefined)
      this.#addMemory(row, IMPORT_ROW_MEMORY_BYTES)
    } else this.#takeRecord(row)
  }

  #takeRecord(row: RecordRow): void {
    const { fields, labelsPatch, lines: linesOfFields = {}, faults: found = [] } = row
    const name = typeof fields.name === 'string' ? fields.name : ''
    const before = this.#lines.get(name)
    const isNameSound = checkText(name, NAME_CHARACTERS_MAX) === undefined
    const place = isNameSound ? { ...placeOf(row), name } : placeOf(row)
    if (before !== undefined)
      this.#faults.add({ ...place, field: 'name', detail: `is the same as on line ${before}` })
    else if (name !== '') this.#lines.set(name, row.line ?? 1)
    for (const { isShared, ...fault } of found) this.#faults.add({ ...place, ...fault }, isShared)
    const draft = parseRow(place, fields, labelsPatch, (fault) => {
      if (found.some(({ field }) => field === fault.field)) return
      const line = Object.hasOwn(linesOfFields, fault.field) ? linesOfFields[fault.field] : undefined
      this.#faults.add(line === undefined ? fault : { ...fault, line })
    })
    if (draft !== undefined && found.length === 0 && before === undefined) this.#drafts.push(draft)
    // A faulty row leaves only its name in memory.
    const bytes = draft === undefined ? IMPORT_ROW_MEMORY_BYTES + 2 * name.length : importRowMemory(draft)
    this.#addMemory(row, bytes)
  }

  /** Counts what has been made of a row, and ends the reading when that takes too much. */
  #addMemory(row: Pick<Row, 'line'>, bytes: number): void {
    this.#memory += bytes
    if (this.#memory + (this.#reader.bytes ?? 0) <= this.#memoryMax) return
    const has = (this.#memoryMax / MEBIBYTE).toFixed(1)
    this.#endAt(
      row,
      `needs more than ${has} MiB of memory up to this row; nothing behind it was read; make it several files, or give connbook more memory`,
    )
  }

  #endAt(row: Pick<Row, 'line'>, detail: string): void {
    this.#isOver = true
    this.#faults.add({ ...placeOf(row), field: 'document', detail })
  }

  #result(): ImportedRecords {
    const { separator, columns, warnings = [] } = this.#reader
    const lines = this.#hasLines ? this.#lines : undefined
    return {
      drafts: this.#drafts,
      faults: this.#faults.list(),
      faultCount: this.#faults.count,
      lineOf: (name) => lines?.get(name),
      warnings: [...warnings, ...warningsOf(this.#emptyCount, this.#firstEmpty)].slice(0, WARNINGS_MAX),
      read: {
        encoding: this.#decoder.encoding ?? 'utf-8',
        ...(separator === undefined ? {} : { separator }),
        ...(columns === undefined ? {} : { columns }),
        first: this.#drafts.slice(0, FIRST_RECORDS).map(withoutPatch),
      },
    }
  }
}

function withoutPatch({ labelsPatch, ...record }: ImportedConfiguration): NewConfiguration {
  if (labelsPatch === undefined) return record
  const set = Object.entries(labelsPatch).filter((entry): entry is [string, string] => entry[1] !== null)
  return set.length === 0 ? record : { ...record, labels: Object.fromEntries(set) }
}

function placeOf({ line }: Pick<Row, 'line'>): { line?: number } {
  return line === undefined ? {} : { line }
}

/** How many of the faults of a file the listed ones are. */
export function countFaults(faults: readonly Fault[]): number {
  return faults.reduce((sum, { lines, more = 0 }) => sum + (lines?.length ?? 1) + more, 0)
}

function warningsOf(emptyCount: number, line = 1): ImportWarning[] {
  return emptyCount === 0 ? [] : [{ line, detail: `left out ${counted(emptyCount, 'empty row')}` }]
}

/** The first faults of a file. Rows that cannot be read for the same reason are one, with the first lines, or the first name. */
class KeptFaults {
  readonly #max: number
  readonly #kept: FaultGroup[] = []
  readonly #groups = new Map<string, FaultGroup>()
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#count
  }

  /** @param isShared Whether it is one with those that differ only in their line. */
  add(fault: Fault, isShared = false): void {
    this.#count += 1
    const key = isShared ? `${fault.field}\0${fault.detail}` : undefined
    const before = key === undefined ? undefined : this.#groups.get(key)
    const { line } = fault
    if (before !== undefined && (line === undefined || before.last !== line)) {
      before.count += 1
      before.last = line
      if (line !== undefined && before.lines.length < LINES_LISTED_MAX) before.lines.push(line)
      return
    }
    if (this.#kept.length >= this.#max) return
    const group = { fault, count: 1, lines: line === undefined ? [] : [line], last: line }
    this.#kept.push(group)
    if (key !== undefined) this.#groups.set(key, group)
  }

  list(): Fault[] {
    const listed = this.#kept.map(({ fault, count, lines }): Fault => {
      if (count === 1) return fault
      if (lines.length === 0) return { ...fault, more: count - 1 }
      const more = count - lines.length
      return { ...fault, lines, ...(more > 0 ? { more } : {}) }
    })
    return listed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
  }
}

interface FaultGroup {
  readonly fault: Fault
  count: number
  readonly lines: number[]
  last: number | undefined
}

export type ImportFormatName = keyof typeof rowReaders
