import { quoteForShell } from '../shell.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ExportFormat } from './export-format.ts'

/** Variables of a POSIX shell, for `. ./connbook.env`. */
export const envFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'connbook.env',
  start: '',
  between: '',
  end: '',
  encode(record) {
    const prefix = keyOf(record)
    return (
      `${prefix}_NAME=${quoteForShell(record.name)}\n${prefix}_HOSTNAME=${quoteForShell(record.hostname)}\n` +
      `${prefix}_PORT=${record.port}\n${prefix}_USERNAME=${quoteForShell(record.username)}\n`
    )
  },
  obstacle(record) {
    if (!/[A-Za-z0-9]/.test(record.name))
      return 'has a name without a letter or digit that a variable can have'
    if (keyOf(record) === 'CONNBOOK_ADMIN')
      return 'would be CONNBOOK_ADMIN_USERNAME, which connbook itself reads'
    return undefined
  },
  keyOf,
}

/** How the variables of a record begin: capital letters, digits, and `_` for everything else. */
function keyOf({ name }: Configuration): string {
  return `CONNBOOK_${name.replace(/[^A-Za-z0-9]/gu, '_').toUpperCase()}`
}
