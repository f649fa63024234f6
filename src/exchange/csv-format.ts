import { fieldNames } from '../store/fields.ts'
import type { ExportFormat } from './export-format.ts'

/** RFC 4180, with a header line and a line end behind the last record. */
export const csvFormat: ExportFormat = {
  mediaType: 'text/csv; charset=utf-8; header=present',
  fileName: 'configurations.csv',
  start: `${fieldNames.join(',')}\r\n`,
  encode(record) {
    let line = ''
    for (const name of fieldNames) line += `${line === '' ? '' : ','}${cellOf(record[name])}`
    return `${line}\r\n`
  },
}

/** Some programs drop blanks around a field that has no quotes. */
function cellOf(value: string | number = ''): string | number {
  return typeof value === 'string' && /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
