import { type CommandContext, DAMAGED, defineCommand } from '../command-line/command.ts'
import { elsewhereExitCodes } from '../command-line/exit-codes.ts'
import { clusterFlags } from '../command-line/options.ts'
import { OutputError, type Print } from '../command-line/output.ts'
import { systemCode } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { replaceFile } from '../files/replaced-file.ts'
import { type ExportSource, exportedQuery, openSource } from './export-source.ts'
import { clientFlags } from './remote/connect.ts'
import { filterFlags } from './remote/record-fields.ts'
import {
  abortOnSignals,
  isStandardOutput,
  isStream,
  replacedPath,
  writeToOutput,
  writeToStream,
} from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the export to'

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
    ['connbook export --format csv --etcd URL', 'a cluster'],
  ],
  notes: [
    'A server elsewhere is asked, if --server, CONNBOOK_SERVER or a kept login names it; otherwise the data folder is read, or with --etcd a cluster.',
    '--format is required. If the format cannot express some records, nothing is written, and the message names each of them with the reason.',
  ],
  flags: ['format', 'output', 'skip', 'where', ...filterFlags, ...clientFlags, ...clusterFlags],
  requires: 'format',
  exitCodes: { ...elsewhereExitCodes, 0: 'the export is complete', 65: DAMAGED },
  async run({ options, given }, context) {
    const { format, skip, output = '-' } = options
    const wanted = { format, skip, query: exportedQuery(options) }
    const source = await openSource({ options, given }, 'export', wanted, context)
    if (await writeExport(source, output, context))
      context.screen.write(`Exported from ${source.place} as ${format}\n`)
  },
})

/** @returns Whether it was written whole: a reader that leaves early is not an error. */
async function writeExport(
  source: ExportSource,
  output: string,
  { print }: CommandContext,
): Promise<boolean> {
  try {
    await writeTo(output, source, print)
    return true
  } catch (error) {
    // As with `ls`: `head` has what it wanted.
    if (error instanceof OutputError && systemCode(error.cause) === 'EPIPE') return false
    throw error
  }
}

/** Writes to standard output, to a pipe, or to a file that is replaced as a whole. */
async function writeTo(output: string, { write, folder }: ExportSource, print: Print) {
  if (isStandardOutput(output)) return writeToOutput(write, 'the export', print)
  if (await isStream(output, CANNOT_WRITE)) return writeToStream(write, 'the export', output)
  using interruption = abortOnSignals()
  const path = await replacedPath(output, CANNOT_WRITE, folder?.path)
  await replaceFile(path, CANNOT_WRITE, write, interruption.signal, realFileSystem, true)
}
