import type { ExportFormat } from './export-format.ts'

/** The envelope of `GET /configurations/`. */
export const listEnvelope = { start: '{"configurations":[', between: ',', end: ']}' } as const

export const jsonFormat: ExportFormat = {
  mediaType: 'application/json; charset=utf-8',
  fileName: 'configurations.json',
  ...listEnvelope,
  end: `${listEnvelope.end}\n`,
  encode: ({ jsonOnce }) => jsonOnce,
}
