import { bareHostname, type ExportFormat } from './export-format.ts'

/** With the newline; libpq since PostgreSQL 13 rejects the whole file for a longer line. */
const LINE_BYTES_MAX = 1022

/** A libpq connection service file: `PGSERVICEFILE=pg_service.conf psql service=NAME`. */
export const pgServiceFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'pg_service.conf',
  between: '\n',
  encode: ({ name, hostname, port, username }) =>
    `[${name}]\nhost=${bareHostname(hostname)}\nport=${port}\nuser=${username}\n`,
  obstacle({ name, username }) {
    if (name.includes(']')) return 'has a name with "]", which ends the name in a service file'
    if (/\s$/.test(username)) return 'has a username that ends in white space, which libpq drops'
    if (Buffer.byteLength(`[${name}]\n`) > LINE_BYTES_MAX) return 'has a name too long for a service file'
    if (Buffer.byteLength(`user=${username}\n`) > LINE_BYTES_MAX)
      return 'has a username too long for a service file'
    return undefined
  },
}
