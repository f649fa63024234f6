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
import { type ImportWarning, LINES_LISTED_MAX, type ReadColumn, type Row, type RowReader } from './row.ts'
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

/** Reads records from a file in pieces. */
export interface ImportReader {
  /** @throws {InvalidInputError} as `ImportTextDecoder.decode` does; then nothing more can be read. */
  read(bytes: Uint8Array): void
  /** Throws as `read` does. */
  end(): ImportedRecords
  /** As `end`, in slices. */
  finish(): LongWork<ImportedRecords>
}

const MEBIBYTE = 1024 * 1024
export const WARNINGS_MAX = 100
export const FIRST_RECORDS = 5

/**
 * @param faultsMax How many faults are kept; the rest is only counted.
 * @param memoryMax Bytes that all that is made of the rows may take.
 */
export function createImportReader(
  format: ImportFormatName,
  faultsMax: number,
  { rowsMax = IMPORT_ROWS_MAX, memoryMax = Number.POSITIVE_INFINITY, options = noImportOptions } = {},
): ImportReader {
  const reader: RowReader = rowReaders[format](options)
  const decoder = new ImportTextDecoder()
  const lines = new Map<string, number>()
  const drafts: ImportedConfiguration[] = []
  const faults = new KeptFaults(faultsMax)
  let firstEmpty: number | undefined
  let emptyCount = 0
  let rows = 0
  let memory = 0
  let isOver = false
  let hasLines = false

  const addFault = (fault: Fault) => faults.add(fault)
  const takeRow = (row: Row) => {
    if (isOver) return
    rows += 1
    hasLines ||= 'line' in row && row.line !== undefined
    if (rows > rowsMax) {
      const detail = `has more than ${rowsMax} rows; nothing behind them was read; make it several files`
      return endAt(row, detail)
    }
    if ('leftOut' in row) {
      if (row.leftOut === 'empty') {
        emptyCount += 1
        firstEmpty ??= row.line
      }
      return
    }
    if ('fault' in row) {
      faults.add({ ...placeOf(row), ...row.fault }, row.fault.name === undefined)
      return count(row, IMPORT_ROW_MEMORY_BYTES)
    }
    const { fields, labelsPatch, lines: linesOfFields = {}, faults: found = [] } = row
    const name = typeof fields.name === 'string' ? fields.name : ''
    const before = lines.get(name)
    const isNameSound = checkText(name, NAME_CHARACTERS_MAX) === undefined
    const place = isNameSound ? { ...placeOf(row), name } : placeOf(row)
    if (before !== undefined)
      addFault({ ...place, field: 'name', detail: `is the same as on line ${before}` })
    else if (name !== '') lines.set(name, row.line ?? 1)
    for (const { isShared, ...fault } of found) faults.add({ ...place, ...fault }, isShared)
    const draft = parseRow(place, fields, labelsPatch, (fault) => {
      if (found.some(({ field }) => field === fault.field)) return
      const line = Object.hasOwn(linesOfFields, fault.field) ? linesOfFields[fault.field] : undefined
      addFault(line === undefined ? fault : { ...fault, line })
    })
    if (draft !== undefined && found.length === 0 && before === undefined) drafts.push(draft)
    // A faulty row leaves only its name in memory.
    count(row, draft === undefined ? IMPORT_ROW_MEMORY_BYTES + 2 * name.length : importRowMemory(draft))
  }
  const count = (row: Pick<Row, 'line'>, bytes: number) => {
    memory += bytes
    if (memory + (reader.bytes ?? 0) <= memoryMax) return
    const has = (memoryMax / MEBIBYTE).toFixed(1)
    endAt(
      row,
      `needs more than ${has} MiB of memory up to this row; nothing behind it was read; make it several files, or give connbook more memory`,
    )
  }
  const endAt = (row: Pick<Row, 'line'>, detail: string) => {
    isOver = true
    addFault({ ...placeOf(row), field: 'document', detail })
  }
  const result = (): ImportedRecords => {
    const { separator, columns } = reader
    return {
      drafts,
      faults: faults.list(),
      faultCount: faults.count,
      lineOf: (name) => (hasLines ? lines.get(name) : undefined),
      warnings: [...(reader.warnings ?? []), ...warningsOf(emptyCount, firstEmpty)].slice(0, WARNINGS_MAX),
      read: {
        encoding: decoder.encoding ?? 'utf-8',
        ...(separator === undefined ? {} : { separator }),
        ...(columns === undefined ? {} : { columns }),
        first: drafts.slice(0, FIRST_RECORDS).map(withoutPatch),
      },
    }
  }
  return {
    read(bytes) {
      if (isOver) return
      for (const row of reader.read(decoder.decode(bytes))) takeRow(row)
      if (!isOver) count({}, 0)
    },
    end() {
      return runAtOnce(this.finish())
    },
    *finish() {
      if (isOver) return result()
      for (const row of reader.read(decoder.end())) takeRow(row)
      for (const row of reader.end()) {
        if (row === undefined) yield
        else takeRow(row)
        if (isOver) break
      }
      return result()
    },
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
