import type { ExportFormat } from './export-format.ts'

/** RFC 4180, with a header line and a line end behind the last record. */
export const csvFormat: ExportFormat = {
  mediaType: 'text/csv; charset=utf-8; header=present',
  fileName: 'configurations.csv',
  start: 'name,hostname,port,username\r\n',
  between: '',
  end: '',
  encode: ({ name, hostname, port, username }) =>
    `${quoteIfNeeded(name)},${hostname},${port},${quoteIfNeeded(username)}\r\n`,
  obstacle: () => undefined,
}

/** Some programs drop blanks around a field that has no quotes. */
function quoteIfNeeded(text: string): string {
  return /[",]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
