import { defineCommand } from '../command-line/command.ts'
import { bookExitCodes } from '../command-line/exit-codes.ts'
import type { Options } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import { type Fault, InvalidInputError, UsageError } from '../errors.ts'
import { asFlags, type ImportOptions, inQuery, parseImportOptions } from '../exchange/import-options.ts'
import { type ImportFormatName, importFormatNames } from '../exchange/import-reader.ts'
import { dataPaths } from '../files/data-folder.ts'
import { isNewFolder } from '../state/new-folder.ts'
import { eitherOf } from '../text.ts'
import { describeForeignInput } from './foreign-input.ts'
import { describeDone, describeTried, ImportRefusedError, linesOf } from './import-report.ts'
import { clientFlags, connect } from './remote/connect.ts'
import { sendRecords, tryOnNothing } from './served-import.ts'

const formatFlags = ['separator', 'map', 'extra', 'only', 'default', 'skip'] as const

const formatsByEnding: readonly (readonly [ending: string, format: ImportFormatName])[] = [
  ['.json', 'json'],
  ['.jsonl', 'jsonl'],
  ['.ndjson', 'jsonl'],
  ['.csv', 'csv'],
  ['ssh_config', 'ssh-config'],
  ['.ssh/config', 'ssh-config'],
  ['/pg_service.conf', 'pg-service'],
  ['/.pg_service.conf', 'pg-service'],
]

/**
 * Changes the folder of a stopped server; a running server is sent the file. Makes all changes, or none.
 *
 * It throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ImportRefusedError} {RefusedError}
 * {StorageFullError} {MemoryFullError}; then nothing has changed. After {NoAnswerError} this is not known.
 */
export const importCommand = defineCommand({
  name: 'import',
  operands: 'FILE',
  otherOperand: '- --format FORMAT',
  completes: 'files',
  summary: 'add and change many records: all of them, or none',
  examples: [
    ['connbook import hosts.csv --dry-run', 'changes nothing'],
    ['connbook import hosts.csv --mode replace', 'removes all others'],
    ['connbook import sheet.csv --extra labels', 'keeps other columns'],
    ['connbook import ~/.ssh/config --skip', 'leaves out what cannot be kept'],
    ['connbook import hosts.csv --server URL', 'elsewhere'],
  ],
  notes: [
    'It changes the book that every command means, in a folder with the server running or not. See connbook help commands.',
    'A folder that is not there is made only if --data or CONNBOOK_DATA names it.',
    `A file with a fault changes nothing; the message names each fault with its line. FILE - is standard input. The format is ${eitherOf(importFormatNames)}: the end of the file name decides, or --format.`,
    'An SSH configuration is read as ssh reads it for whoever runs the command, Host *, Match by host names and Include too. Nothing is executed.',
  ],
  flags: ['format', 'mode', 'dryRun', 'encoding', ...formatFlags, 'user', 'reason', ...clientFlags],
  exitCodes: { ...bookExitCodes },
  async run({ options, given, operands: [source = ''] }, context) {
    const format = formatOf(source, options.format) ?? (await refuseFormat(source, options.format))
    checkUser(format, given)
    const importOptions = optionsOf(options, format)
    const order = {
      ...{ source, format, mode: options.mode, isTrial: options.dryRun },
      ...{ username: options.user, options: importOptions, reason: options.reason },
      encoding: options.encoding,
    }
    const client = await connect({ options, given }, context, 'import', { isMadeIfMissing: true })
    const { folder } = client.endpoint
    const isMissing = order.isTrial && folder !== undefined && (await isNewFolder(dataPaths(folder)))
    const importing = isMissing ? tryOnNothing(order, context) : sendRecords(client, order, context)
    const report = await importing.catch((error: unknown) => {
      // Together with what is stored, a record of the file may break a rule.
      if (!(error instanceof InvalidInputError) || error.faults.length === 0) throw error
      throw new ImportRefusedError([error.message, ...linesOf(error.faults)].join('\n'), { cause: error })
    })
    const place = client.endpoint.name
    if (order.isTrial)
      await shown(context.print(describeTried(report)), 'show what would change', '; nothing has changed')
    context.screen.write(
      order.isTrial ? `Compared with ${place}; nothing has changed\n` : describeDone(report, place),
    )
  },
})

function formatOf(source: string, given: string | undefined): ImportFormatName | undefined {
  const told = given ?? formatsByEnding.find(([ending]) => `/${unpackedName(source)}`.endsWith(ending))?.[1]
  return importFormatNames.find((known) => known === told)
}

/** @throws {UsageError} with what the file is, if another tool has written it. */
async function refuseFormat(source: string, given: string | undefined): Promise<never> {
  const what = given === undefined ? `tell the format of "${source}"` : `import ${given}`
  const found = given === undefined ? await describeForeignInput(source) : undefined
  if (found !== undefined) throw new UsageError(`Cannot import ${source}: it ${found}`)
  throw new UsageError(`Cannot ${what}; say --format with one of ${importFormatNames.join(', ')}`)
}

/** @throws {UsageError} naming each fault of the flags of some formats. */
function optionsOf(
  options: Pick<Options, (typeof formatFlags)[number]>,
  format: ImportFormatName,
): ImportOptions {
  const faults: Fault[] = []
  const { separator, extra, map, only, default: defaults } = options
  const skip = options.skip ? '1' : undefined
  const words = { separator, extra, map, only, default: defaults, skip }
  const found = parseImportOptions(words, format, asFlags, (fault) => faults.push(fault))
  // The part before the first ":" is the column, once it is in a query.
  for (const [column] of found.only)
    if (column.includes(inQuery.divider))
      faults.push({
        field: 'only',
        detail: `cannot name a column with ":", such as ${JSON.stringify(column)}`,
      })
  if (faults.length === 0) return found
  throw new UsageError(faults.map(({ field, detail }) => `--${field} ${detail}`).join('\n'))
}

/** @throws {UsageError} */
function checkUser(format: ImportFormatName, given: ReadonlyMap<string, string>) {
  if (given.has('--user') && format !== 'ssh-config')
    throw new UsageError(`--user is for ssh-config only; this file is ${format}`)
}

/** Gzip is unpacked, so the ending before `.gz` counts. */
function unpackedName(source: string): string {
  return source.toLowerCase().replace(/\.gz$/, '')
}
