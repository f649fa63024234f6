import type { ExportFormat } from './export-format.ts'

/** One record a line (jsonlines.org). */
export const jsonlFormat: ExportFormat = {
  mediaType: 'application/x-ndjson; charset=utf-8',
  fileName: 'configurations.jsonl',
  encode: ({ jsonOnce }) => `${jsonOnce}\n`,
}

/** The envelope of `GET /configurations/`. */
export const listEnvelope = { start: '{"configurations":[', between: ',', end: ']}' } as const

export const jsonFormat: ExportFormat = {
  mediaType: 'application/json; charset=utf-8',
  fileName: 'configurations.json',
  ...listEnvelope,
  end: `${listEnvelope.end}\n`,
  encode: ({ jsonOnce }) => jsonOnce,
}
