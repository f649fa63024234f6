import type { LastStart } from '../audit/last-start.ts'
import type { ImportFormatName } from '../exchange/import-formats.ts'
import { quoteForShell, wordForShell } from '../shell.ts'
import type { ImportMode } from '../store/import-mode.ts'

/** What an import was asked to do. */
export interface ImportOrder {
  /** A path, or `-` for standard input. */
  readonly source: string
  readonly format: ImportFormatName
  readonly mode: ImportMode
  /** Whether nothing is to change. */
  readonly isTrial: boolean
}

/** A line for a shell that sends a file to a server to do the same. @param server By default on port 8080. */
export function importCall({ source, format, mode, isTrial }: ImportOrder, server?: LastStart): string {
  const { url = 'http://localhost:8080', socket } = server ?? {}
  // A server takes no compressed body.
  const isPacked = source.toLowerCase().endsWith('.gz')
  const body = source === '-' || isPacked ? '@-' : `@${source}`
  const query = `format=${format}&mode=${mode}${isTrial ? '&dry_run=1' : ''}`
  return [
    ...(isPacked ? [`gunzip -c ${wordForShell(source)} |`] : []),
    'curl -sS',
    ...(url.startsWith('https:') ? ['-k'] : []),
    ...(socket === undefined ? [] : [`--unix-socket ${quoteForShell(socket)}`]),
    "-H 'Authorization: Bearer TOKEN' -H 'Content-Type:'",
    `--data-binary ${quoteForShell(body)}`,
    quoteForShell(`${url}/v1/import?${query}`),
  ].join(' ')
}
