import { quoteForShell } from '../shell.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'
import type { ExportFormat } from './export-format.ts'

const variables = fieldNames.map((name) => ({ name, ending: `_${name.toUpperCase()}` }))

/** Variables of a POSIX shell, for `. ./connbook.env`. */
export const envFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'connbook.env',
  encode(record) {
    const prefix = keyOf(record)
    let lines = ''
    for (const { name, ending } of variables) {
      const value = record[name]
      const word = typeof value === 'string' ? quoteForShell(value) : value
      if (word !== undefined) lines += `${prefix}${ending}=${word}\n`
    }
    return lines
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

/** The prefix of a record's variables: its name in capitals, with `_` for all but letters and digits. */
function keyOf({ name }: Configuration): string {
  return `CONNBOOK_${name.replace(/[^A-Za-z0-9]/gu, '_').toUpperCase()}`
}
