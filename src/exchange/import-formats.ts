import { createCsvReader } from './csv-rows.ts'
import { createJsonReader } from './json-rows.ts'
import { createJsonlReader } from './jsonl-rows.ts'
import type { RowReader } from './row.ts'
import { createSshConfigReader } from './ssh-config-rows.ts'

export const rowReaders = {
  json: createJsonReader,
  jsonl: createJsonlReader,
  csv: createCsvReader,
  'ssh-config': createSshConfigReader,
} satisfies Record<string, () => RowReader>

export type ImportFormatName = keyof typeof rowReaders

export const importFormatNames = Object.keys(rowReaders) as ImportFormatName[]
