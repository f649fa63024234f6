import { createCsvReader } from './csv-rows.ts'
import { createJsonReader } from './json-rows.ts'
import type { RowReader } from './row.ts'
import { createSshConfigReader } from './ssh-config-rows.ts'

const readers = {
  json: createJsonReader,
  csv: createCsvReader,
  'ssh-config': createSshConfigReader,
} satisfies Record<string, () => RowReader>

/** What records can be read from. */
export type ImportFormatName = keyof typeof readers

export const importFormatNames = Object.keys(readers) as ImportFormatName[]

export function createRowReader(format: ImportFormatName): RowReader {
  return readers[format]()
}
