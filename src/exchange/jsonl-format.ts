import type { ExportFormat } from './export-format.ts'

/** One record a line (jsonlines.org). */
export const jsonlFormat: ExportFormat = {
  mediaType: 'application/x-ndjson; charset=utf-8',
  fileName: 'configurations.jsonl',
  encode: ({ jsonOnce }) => `${jsonOnce}\n`,
}
