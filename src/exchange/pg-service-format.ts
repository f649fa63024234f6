import type { Configuration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import type { ExportFormat } from './export-format.ts'
import { lookupAddress } from './lookup-address.ts'

/** With the newline; libpq since PostgreSQL 13 rejects the whole file for a longer line. */
export const LINE_BYTES_MAX = 1022

export const sslModes: ReadonlySet<string> = new Set([
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
])

/** A libpq connection service file: `PGSERVICEFILE=pg_service.conf psql service=NAME`. */
export const pgServiceFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'pg_service.conf',
  kind: 'postgres',
  between: '\n',
  encode(record) {
    const { name, hostname, port, username } = record
    const { database, sslMode } = labelsOf(record)
    return (
      `[${name}]\nhost=${lookupAddress(hostname)}\nport=${port}\nuser=${username}\n` +
      (database === undefined ? '' : `dbname=${database}\n`) +
      (sslMode === undefined ? '' : `sslmode=${sslMode}\n`)
    )
  },
  obstacle(record) {
    const { name, username } = record
    if (name.includes(']')) return 'has a name with "]", which ends the name in a service file'
    if (/\s$/.test(username)) return 'has a username that ends in white space, which libpq drops'
    if (Buffer.byteLength(`[${name}]\n`) > LINE_BYTES_MAX) return 'has a name too long for a service file'
    if (Buffer.byteLength(`user=${username}\n`) > LINE_BYTES_MAX)
      return 'has a username too long for a service file'
    const { database, sslMode } = labelsOf(record)
    if (database === '') return 'has a label pg.dbname that is empty'
    if (database !== undefined && /\s$/.test(database))
      return 'has a label pg.dbname that ends in white space, which libpq drops'
    if (Buffer.byteLength(`dbname=${database ?? ''}\n`) > LINE_BYTES_MAX)
      return 'has a label pg.dbname too long for a service file'
    if (sslMode !== undefined && !sslModes.has(sslMode))
      return `has a label pg.sslmode that is none of ${[...sslModes].join(', ')}`
    return undefined
  },
}

function labelsOf({ labels }: Configuration) {
  return { database: labelOf(labels, 'pg.dbname'), sslMode: labelOf(labels, 'pg.sslmode') }
}
