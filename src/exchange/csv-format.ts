import type { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'
import type { ExportFormat } from './export-format.ts'
import { encodeLabelCell } from './label-cell.ts'

const shared = {
  mediaType: 'text/csv; charset=utf-8; header=present',
  fileName: 'configurations.csv',
}

/** RFC 4180, with a header line and a line end after the last record. */
export const csvFormat: ExportFormat = {
  ...shared,
  start: `${fieldNames.join(',')}\r\n`,
  encode: (record) => `${cellsOf(record)}\r\n`,
  labelled: {
    ...shared,
    start: `${fieldNames.join(',')},labels\r\n`,
    encode: (record) => `${cellsOf(record)},${cellOf(encodeLabelCell(record.labels))}\r\n`,
  },
}

function cellsOf(record: Configuration): string {
  let line = ''
  for (const name of fieldNames) line += `${line === '' ? '' : ','}${cellOf(record[name])}`
  return line
}

/** Quotes leading and trailing blanks too: some programs drop them from a bare field. */
function cellOf(value: string | number = ''): string | number {
  return typeof value === 'string' && /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
