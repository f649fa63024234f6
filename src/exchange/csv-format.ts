import { fieldNames } from '../store/fields.ts'
import type { ExportFormat } from './export-format.ts'

/** RFC 4180, with a header line and a line end after the last record. */
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

/** Quotes leading and trailing blanks too: some programs drop them from a bare field. */
function cellOf(value: string | number = ''): string | number {
  return typeof value === 'string' && /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
