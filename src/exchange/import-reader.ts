import type { Fault } from '../errors.ts'
import { IMPORT_ROW_MEMORY_BYTES, IMPORT_ROWS_MAX } from '../limits.ts'
import { type LongWork, runAtOnce } from '../scheduler.ts'
import type { ImportedConfiguration, NewConfiguration } from '../store/configuration.ts'
import { importRowMemory } from '../store/import-plan.ts'
import { counted } from '../text.ts'
import { createAnsibleReader } from './ansible-rows.ts'
import { createCsvReader } from './csv-rows.ts'
import { describeForeignFile, FOREIGN_HEAD_CHARACTERS } from './foreign-file.ts'
import { FoundFaults } from './found-faults.ts'
import { type ImportOptions, noImportOptions } from './import-options.ts'
import { type ImportEncoding, ImportTextDecoder, type InputEncoding } from './import-text.ts'
import { createJsonlReader, createJsonReader } from './json-rows.ts'
import { parseRow } from './parsed-row.ts'
import { createPgServiceReader } from './pg-service-rows.ts'
import {
  type ImportWarning,
  namedBy,
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
  /** Whether something is left to import without what is at fault. */
  readonly isAnyLeft: boolean
  /** First what is left out because of its faults, as many as faults are kept; then at most WARNINGS_MAX others. */
  readonly warnings: readonly ImportWarning[]
  readonly read: ReadForm
  /** Where the record of a name is; undefined if the form has no lines. */
  readonly lineOf: (name: string) => number | undefined
}

/** How a file was read. */
export interface ReadForm {
  readonly encoding: ImportEncoding | InputEncoding
  /** Only of CSV. */
  readonly separator?: string
  readonly columns?: readonly ReadColumn[]
  /** The first records without a fault, at most FIRST_RECORDS; a label that the file removes is not there. */
  readonly first: readonly NewConfiguration[]
}

const MEBIBYTE = 1024 * 1024
/** What a fault of more than a row names; nothing can be imported then. */
const ofWholeFile = new Set(['document', 'header', 'map', 'only'])
/** Those of a file in another format. */
const ofForm = new Set(['document', 'header'])
const NOTHING_LEFT = 'has no record left without what is left out'
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
  readonly #faults: FoundFaults
  readonly #isSkipping: boolean
  /** Whether something is wrong with more than single rows. */
  #isLost = false
  /** Whether the file has not the form that its format demands. */
  #isMisshapen = false
  /** The beginning of the file, to tell what another tool has written. */
  #head = ''
  /** Whether the format's own faults give this advice, as those of `ansible` do. */
  readonly #hasOwnAdvice: boolean
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
    this.#faults = new FoundFaults(faultsMax)
    this.#hasOwnAdvice = format === 'ansible'
    this.#isSkipping = options.isSkipping === true
    this.#rowsMax = rowsMax
    this.#memoryMax = memoryMax
  }

  /** @throws {InvalidInputError} as `ImportTextDecoder.decode` does; then nothing more can be read. */
  read(bytes: Uint8Array): void {
    if (this.#isOver) return
    const text = this.#decoder.decode(bytes)
    if (this.#head.length < FOREIGN_HEAD_CHARACTERS) this.#head += text.slice(0, FOREIGN_HEAD_CHARACTERS)
    for (const row of this.#reader.read(text)) this.#takeRow(row)
    if (!this.#isOver) this.#addMemory({}, 0)
  }

  /** Throws as `read` does. */
  end(): ImportedRecords {
    return runAtOnce(this.finish())
  }

  /** As `end`, as long work. */
  *finish(): LongWork<ImportedRecords> {
    if (this.#isOver) return this.#result()
    for (const row of this.#reader.read(this.#decoder.end())) this.#takeRow(row)
    for (const row of this.#reader.end()) {
      if (row !== undefined) this.#takeRow(row)
      if (this.#isOver) break
      yield
    }
    return this.#result()
  }

  #tellForeign() {
    const detail = this.#hasOwnAdvice ? undefined : describeForeignFile(this.#head)
    this.#head = ''
    if (detail === undefined) return
    this.#isLost = true
    this.#faults.add({ isWay: true, order: 0, field: 'document', detail })
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
      const { fault, isOfFile = false } = row
      this.#isLost ||= isOfFile || ofWholeFile.has(fault.field)
      this.#isMisshapen ||= ofForm.has(fault.field)
      this.#faults.add({ isShared: fault.name === undefined, ...placeOf(row), ...fault })
      this.#addMemory(row, IMPORT_ROW_MEMORY_BYTES)
    } else this.#takeRecord(row)
  }

  #takeRecord(row: RecordRow): void {
    const { fields, labelsPatch, looseKeys, lines: linesOfFields = {}, faults: found = [] } = row
    const { isFaulty = false, isOfFile = false } = row
    this.#isLost ||= isOfFile
    const name = typeof fields.name === 'string' ? fields.name : ''
    const before = this.#lines.get(name)
    const place = { ...placeOf(row), ...namedBy({ name }) }
    if (before !== undefined)
      this.#faults.add({ ...place, field: 'name', detail: `is the same as on line ${before}` })
    else if (name !== '') this.#lines.set(name, row.line ?? 1)
    for (const fault of found) this.#faults.add({ ...place, ...fault })
    const draft = parseRow(place, fields, labelsPatch, (fault) => {
      if (found.some(({ field }) => field === fault.field)) return
      const line = Object.hasOwn(linesOfFields, fault.field) ? linesOfFields[fault.field] : undefined
      this.#faults.add(line === undefined ? fault : { ...fault, line })
    })
    if (draft !== undefined && !isFaulty && found.length === 0 && before === undefined)
      this.#drafts.push(looseKeys === undefined ? draft : { ...draft, looseKeys })
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
    this.#isLost = true
    this.#faults.add({ ...placeOf(row), field: 'document', detail })
  }

  #result(): ImportedRecords {
    if (this.#isMisshapen && this.#lines.size === 0) this.#tellForeign()
    const { separator, columns, warnings = [] } = this.#reader
    const lines = this.#hasLines ? this.#lines : undefined
    const isSkipped = this.#isSkipping && this.#faults.count > 0 && !this.#isLost
    // Without a record, --mode replace would remove every record.
    if (isSkipped && this.#drafts.length === 0) {
      this.#isLost = true
      this.#faults.add({ isWay: true, order: 0, field: 'document', detail: NOTHING_LEFT })
      return this.#result()
    }
    const left = isSkipped ? this.#faults.warnings() : []
    const others = [...warnings, ...warningsOf(this.#emptyCount, this.#firstEmpty)]
    return {
      drafts: this.#drafts,
      faults: isSkipped ? [] : this.#faults.list(),
      faultCount: isSkipped ? 0 : this.#faults.count,
      isAnyLeft: !this.#isLost && this.#drafts.length > 0,
      lineOf: (name) => lines?.get(name),
      warnings: [...left, ...others.slice(0, WARNINGS_MAX)],
      read: {
        encoding: this.#decoder.encoding ?? 'utf-8',
        ...(separator === undefined ? {} : { separator }),
        ...(columns === undefined ? {} : { columns }),
        first: this.#drafts.slice(0, FIRST_RECORDS).map(withoutPatch),
      },
    }
  }
}

function withoutPatch({ labelsPatch, looseKeys: _, ...record }: ImportedConfiguration): NewConfiguration {
  if (labelsPatch === undefined) return record
  const set = Object.entries(labelsPatch).filter((entry): entry is [string, string] => entry[1] !== null)
  return set.length === 0 ? record : { ...record, labels: Object.fromEntries(set) }
}

function placeOf({ line }: Pick<Row, 'line'>): { line?: number } {
  return line === undefined ? {} : { line }
}

function warningsOf(emptyCount: number, line = 1): ImportWarning[] {
  return emptyCount === 0 ? [] : [{ line, detail: `left out ${counted(emptyCount, 'empty row')}` }]
}

export type ImportFormatName = keyof typeof rowReaders
