import type { ExportFormat } from './export-format.ts'

/** The envelope of `GET /configurations/`. */
export const jsonFormat: ExportFormat = {
  mediaType: 'application/json; charset=utf-8',
  fileName: 'configurations.json',
  start: '{"configurations":[',
  between: ',',
  end: ']}\n',
  encode: (record) => JSON.stringify(record),
}
