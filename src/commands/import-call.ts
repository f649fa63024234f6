import { open, stat } from 'node:fs/promises'
import type { LastStart } from '../audit/trail-lines.ts'
import { queryOf } from '../client/endpoint.ts'
import { type ImportOptions, importQuery } from '../exchange/import-options.ts'
import type { ImportFormatName } from '../exchange/import-reader.ts'
import { quoteForShell, wordForShell } from '../shell.ts'
import type { ImportMode } from '../store/authorship.ts'

const GZIP_START = Buffer.from([0x1f, 0x8b])

/** What an import was asked to do. */
export interface ImportOrder {
  /** A path, or `-` for standard input. */
  readonly source: string
  readonly format: ImportFormatName
  readonly mode: ImportMode
  /** Whether nothing is to change. */
  readonly isTrial: boolean
  /** For hosts of an SSH configuration without one. */
  readonly username?: string | undefined
  /** Whether lines and hosts of an SSH configuration that cannot be kept are left out. */
  readonly isSkipping?: boolean
  /** What becomes of the columns of CSV. */
  readonly options: ImportOptions
  /** Why, for the history. */
  readonly reason?: string | undefined
}

/**
 * A line for a shell that sends a file to a server to do the same.
 *
 * @param server By default on port 8080.
 * @param isPacked Whether the file is gzip.
 */
export function importCall(
  { source, format, mode, isTrial, options, reason }: ImportOrder,
  server: LastStart | undefined,
  isPacked: boolean,
): string {
  const { url = 'http://localhost:8080', socket } = server ?? {}
  // Descriptors, such as those of <(COMMAND), have ended when the line is used.
  const isStream = source === '-' || /^\/(dev\/(fd\/|stdin)|proc\/)/.test(source)
  // A server takes no compressed body.
  const body = isStream || isPacked ? '@-' : `@${source}`
  const query = queryOf({ format, mode, dry_run: isTrial ? 1 : undefined, ...importQuery(options) })
  return [
    ...(isPacked ? [`gunzip -c < ${wordForShell(source)} |`] : []),
    'curl -sS',
    ...(url.startsWith('https:') ? ['-k'] : []),
    ...(socket === undefined ? [] : [`--unix-socket ${quoteForShell(socket)}`]),
    "-H 'Authorization: Bearer TOKEN' -H 'Content-Type:'",
    ...(reason === undefined ? [] : [`-H ${quoteForShell(`X-Reason: ${encodeURIComponent(reason)}`)}`]),
    `--data-binary ${quoteForShell(body)}`,
    quoteForShell(`${url}/v1/import${query}`),
  ].join(' ')
}

/**
 * Lines for a shell that send a real SSH configuration to a server, which itself takes neither patterns nor `Include`:
 * its records are made in a new folder first.
 *
 * @param server As in `importCall`.
 */
export function importSshCalls(order: ImportOrder, server: LastStart | undefined): readonly string[] {
  const { source, username, isSkipping = false } = order
  const options = [
    ...(username === undefined ? [] : [`--user ${wordForShell(username)}`]),
    ...(isSkipping ? ['--skip'] : []),
  ]
  const records = 'records.json'
  return [
    ['connbook import --format ssh-config', ...options, '--data new-folder', wordForShell(source)].join(' '),
    `connbook export --format json --data new-folder --output ${records}`,
    importCall({ ...order, source: records, format: 'json' }, server, false),
  ]
}

/** Whether a plain file begins like gzip, whatever its name. False for anything else, and if it cannot be read. */
export async function isGzip(source: string): Promise<boolean> {
  try {
    // To open a named pipe could take for ever.
    if (!(await stat(source)).isFile()) return false
    await using file = await open(source)
    const { buffer } = await file.read(Buffer.alloc(GZIP_START.length), 0)
    return buffer.equals(GZIP_START)
  } catch {
    return false
  }
}
