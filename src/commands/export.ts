import { type CommandContext, type CommandInput, defineCommand, tell } from '../command-line/command.ts'
import { bookExitCodes } from '../command-line/exit-codes.ts'
import { OutputError, type Print } from '../command-line/output.ts'
import { systemCode, UsageError } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { replaceFile } from '../files/replaced-file.ts'
import { checkExportFilters, exportedQuery } from './exported-query.ts'
import { followExport } from './follow-export.ts'
import { FollowedCommand, startShell } from './followed-command.ts'
import { clientFlags, connect } from './remote/connect.ts'
import { filterFlags } from './remote/record-fields.ts'
import { openServedExport, type ServedExport, type WantedExport } from './served-export.ts'
import {
  abortOnSignals,
  isStandardOutput,
  isStream,
  replacedPath,
  writeToOutput,
  writeToStream,
} from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the export to'

const flags = [
  ...(['format', 'output', 'follow', 'run', 'skip', 'where'] as const),
  ...filterFlags,
  ...clientFlags,
] as const

/**
 * Works whether or not a server runs on the folder.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when the folder cannot be read, {ExportRefusedError}, and
 * {OutputError} {FileNotReplacedError} when the export was not written whole.
 */
export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write records in the format of another tool',
  examples: [
    ['connbook export --format ssh-config > ssh_config', 'for ssh -F'],
    ['connbook export --format ansible > inventory.yml', 'a YAML inventory'],
    ['connbook export --format csv --output hosts.csv', 'replaces the file whole'],
    ['connbook export --format ansible --label env=prod', 'filters as of ls'],
    ['connbook export --format csv --server URL', 'elsewhere'],
    ['connbook export --format csv --output FILE --follow', 'goes on'],
  ],
  notes: [
    'It writes the book that every command means, in a folder with the server running or not. See connbook help commands.',
    '--format is required. If the format cannot express some records, nothing is written, and the message names each of them with the reason.',
    'With --follow a server is asked, or that of the data folder. The file is written when its text would be another one; what passes, such as a server that is away, is said once and tried again. --run gets nothing of a record, and no credentials; after 60 s it is ended.',
  ],
  flags,
  requires: 'format',
  exitCodes: {
    ...bookExitCodes,
    0: 'the export is complete; with --follow, a signal ended it',
  },
  async run({ options, given }, context) {
    const { format, skip, output = '-' } = options
    const wanted = { format, skip, query: exportedQuery(options) }
    if (options.follow) return follow({ options, given }, wanted, context)
    if (options.run !== undefined)
      throw new UsageError(
        'Give --run with --follow; to run a command once, write it behind && and the export',
      )
    checkExportFilters(wanted.query)
    const client = await connect({ options, given }, context, 'export')
    const served = await openServedExport(client, wanted)
    // A pipe may have to wait for its reader.
    await context.opened.letGo()
    context.screen.write(served.remarks)
    if (await writeExport(served, client.endpoint.folder, output, context))
      tell(context.screen, `Exported from ${client.endpoint.name} as ${format}\n`)
  },
})

type Flag = (typeof flags)[number]

/** Keeps the file as the export until a signal ends it. */
async function follow(
  { options, given }: Pick<CommandInput<Flag>, 'options' | 'given'>,
  wanted: WantedExport,
  context: CommandContext,
) {
  const { environment, screen } = context
  using interruption = abortOnSignals()
  const { output = '-', run } = options
  if (isStandardOutput(output) || (await isStream(output, CANNOT_WRITE)))
    throw new UsageError('--follow keeps a file: give --output FILE')
  checkExportFilters(wanted.query)
  const client = await connect({ options, given }, context, 'export', { isServerOnly: true })
  const say = (text: string) => void screen.write(`connbook: ${text}\n`)
  const command = run === undefined ? undefined : new FollowedCommand(() => startShell(run, environment), say)
  const file = { client, wanted, path: output, what: CANNOT_WRITE, command }
  await followExport(file, screen, interruption.signal)
}

/** @returns Whether it was written whole: a reader that leaves early is not an error. */
async function writeExport(
  served: ServedExport,
  folder: string | undefined,
  output: string,
  { print }: CommandContext,
): Promise<boolean> {
  try {
    await writeTo(output, served, folder, print)
    return true
  } catch (error) {
    // As with `ls`: `head` has what it wanted.
    if (error instanceof OutputError && systemCode(error.cause) === 'EPIPE') return false
    throw error
  }
}

/** Writes to standard output, to a pipe, or to a file that is replaced as a whole. */
async function writeTo(output: string, { write }: ServedExport, folder: string | undefined, print: Print) {
  if (isStandardOutput(output)) return writeToOutput(write, 'the export', print)
  if (await isStream(output, CANNOT_WRITE)) return writeToStream(write, 'the export', output)
  using interruption = abortOnSignals()
  const path = await replacedPath(output, CANNOT_WRITE, folder)
  await replaceFile(path, CANNOT_WRITE, write, interruption.signal, realFileSystem, true)
}
