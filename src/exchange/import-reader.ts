import type { Fault } from '../errors.ts'
import { IMPORT_ROW_MEMORY_BYTES, IMPORT_ROWS_MAX, NAME_CHARACTERS_MAX } from '../limits.ts'
import { type ImportedConfiguration, readNewConfiguration } from '../store/configuration.ts'
import { importRowMemory } from '../store/import-plan.ts'
import { faultsOfLabelsPatch, type LabelsPatch } from '../store/labels.ts'
import { checkText } from '../text.ts'
import { createCsvReader } from './csv-rows.ts'
import { ImportTextDecoder } from './import-text.ts'
import { createJsonlReader, createJsonReader } from './json-rows.ts'
import type { Row, RowReader } from './row.ts'
import { createSshConfigReader } from './ssh-config-rows.ts'

export const rowReaders = {
  json: createJsonReader,
  jsonl: createJsonlReader,
  csv: createCsvReader,
  'ssh-config': createSshConfigReader,
} satisfies Record<string, () => RowReader>
export const importFormatNames = Object.keys(rowReaders) as ImportFormatName[]

export interface ImportedRecords {
  /** In the order of the file, with unique names; incomplete when there are faults. */
  readonly drafts: readonly ImportedConfiguration[]
  /** The first faults that were found, sorted by line. */
  readonly faults: readonly Fault[]
  /** All faults, also those not kept. */
  readonly faultCount: number
  /** Rows of nothing but separators, which were left out. */
  readonly emptyCount: number
}

/** Reads records from a file in pieces. */
export interface ImportReader {
  /** @throws {InvalidInputError} as `ImportTextDecoder.decode` does; then nothing more can be read. */
  read(bytes: Uint8Array): void
  /** Throws as `read` does. */
  end(): ImportedRecords
}

const MEBIBYTE = 1024 * 1024

/**
 * @param faultsMax How many faults are kept; the rest is only counted.
 * @param memoryMax Bytes that all that is made of the rows may take.
 */
export function createImportReader(
  format: ImportFormatName,
  faultsMax: number,
  { rowsMax = IMPORT_ROWS_MAX, memoryMax = Number.POSITIVE_INFINITY } = {},
): ImportReader {
  const reader = rowReaders[format]()
  const decoder = new ImportTextDecoder()
  const lines = new Map<string, number>()
  const drafts: ImportedConfiguration[] = []
  const faults: Fault[] = []
  let faultCount = 0
  let emptyCount = 0
  let rows = 0
  let memory = 0
  let isOver = false

  const addFault = (fault: Fault) => {
    faultCount += 1
    if (faults.length < faultsMax) faults.push(fault)
  }
  const takeRow = (row: Row) => {
    if (isOver) return
    rows += 1
    if (rows > rowsMax) {
      const detail = `has more than ${rowsMax} rows; nothing behind them was read; make it several files`
      return endAt(row, detail)
    }
    if ('isEmpty' in row) {
      emptyCount += 1
      return
    }
    if ('fault' in row) {
      addFault({ line: row.line, ...row.fault })
      return count(row, IMPORT_ROW_MEMORY_BYTES)
    }
    const { line, fields, labelsPatch } = row
    const name = typeof fields.name === 'string' ? fields.name : ''
    const before = lines.get(name)
    const isNameSound = checkText(name, NAME_CHARACTERS_MAX) === undefined
    const place = isNameSound ? { line, name } : { line }
    if (before !== undefined)
      addFault({ ...place, field: 'name', detail: `is the same as on line ${before}` })
    else if (name !== '') lines.set(name, line)
    const draft = parseRow(place, fields, labelsPatch, addFault)
    if (draft !== undefined && before === undefined) drafts.push(draft)
    // A faulty row leaves only its name in memory.
    count(row, draft === undefined ? IMPORT_ROW_MEMORY_BYTES + 2 * name.length : importRowMemory(draft))
  }
  const count = (row: Row, bytes: number) => {
    memory += bytes
    if (memory <= memoryMax) return
    const has = (memoryMax / MEBIBYTE).toFixed(1)
    endAt(
      row,
      `needs more than ${has} MiB of memory up to this row; nothing behind it was read; make it several files, or give connbook more memory`,
    )
  }
  const endAt = ({ line }: Row, detail: string) => {
    isOver = true
    addFault({ line, field: 'document', detail })
  }
  return {
    read(bytes) {
      if (isOver) return
      for (const row of reader.read(decoder.decode(bytes))) takeRow(row)
    },
    end() {
      if (!isOver) for (const row of [...reader.read(decoder.end()), ...reader.end()]) takeRow(row)
      return { drafts, faults: faults.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)), faultCount, emptyCount }
    },
  }
}

/**
 * Checks one row.
 *
 * @param place Of the row, for its faults.
 * @returns Undefined if it has faults.
 */
export function parseRow(
  place: Pick<Fault, 'line' | 'name'>,
  fields: Record<string, unknown>,
  labelsPatch: LabelsPatch | undefined,
  addFault: (fault: Fault) => void,
): ImportedConfiguration | undefined {
  const { fields: draft, faults: fieldFaults } = readNewConfiguration(fields)
  const faults =
    labelsPatch === undefined ? fieldFaults : [...fieldFaults, ...faultsOfLabelsPatch(labelsPatch)]
  for (const fault of faults) addFault({ ...place, ...fault })
  if (faults.length > 0) return undefined
  return labelsPatch === undefined ? draft : { ...draft, labelsPatch }
}

export type ImportFormatName = keyof typeof rowReaders
