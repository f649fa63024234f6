import { readListedChanges } from '../audit/listed-changes.ts'
import type { OpenResponse } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import { type CommandContext, DAMAGED, defineCommand, type Screen } from '../command-line/command.ts'
import { elsewhereExitCodes } from '../command-line/exit-codes.ts'
import { clusterFlags, type Options } from '../command-line/options.ts'
import { OutputError, type Print } from '../command-line/output.ts'
import { ConnbookError, type Fault, systemCode } from '../errors.ts'
import { exportPieces, summarizeExport } from '../exchange/export.ts'
import { type ExportFormatName, exportFormats, formatFor } from '../exchange/export-formats.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { replaceFile } from '../files/replaced-file.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { printableJson } from '../json.ts'
import { runAtOnce } from '../scheduler.ts'
import { readStore, type StoredRecords } from '../storage/file/file-storage.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import { counted, escapeHidden } from '../text.ts'
import { clientFlags, connectElsewhere } from './remote/connect.ts'
import { usedCluster } from './used-cluster.ts'
import {
  abortOnSignals,
  isStandardOutput,
  isStream,
  replacedPath,
  writeToOutput,
  writeToStream,
} from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the export to'
const REMEDY = 'Nothing was written; rename or change them, or leave them out with --skip'

/** The format cannot express some records, and `--skip` was not given. */
export class ExportRefusedError extends ConnbookError {
  readonly code = 'not_expressible'
}

/**
 * Works whether or not a server runs on the folder.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when the folder cannot be read, {ExportRefusedError}, and
 * {OutputError} {FileNotReplacedError} when the export was not written whole.
 */
export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write all records in the format of another tool',
  examples: [
    ['connbook export --format ssh-config > ssh_config', 'for ssh -F'],
    ['connbook export --format ansible > inventory.yml', 'a YAML inventory'],
    ['connbook export --format csv --output hosts.csv', 'replaces the file whole'],
    ['connbook export --format csv --server URL', 'elsewhere'],
    ['connbook export --format csv --etcd URL', 'a cluster'],
  ],
  notes: [
    'A server elsewhere is asked, if --server, CONNBOOK_SERVER or a kept login names it; otherwise the data folder is read, or with --etcd a cluster.',
    '--format is required. If the format cannot express some records, nothing is written, and the message names each of them with the reason.',
  ],
  flags: ['format', 'output', 'skip', ...clientFlags, ...clusterFlags],
  requires: 'format',
  exitCodes: { ...elsewhereExitCodes, 0: 'the export is complete', 65: DAMAGED },
  async run({ options, given }, context) {
    const client = await connectElsewhere({ options, given }, context, 'export')
    if (client !== undefined) {
      const write = await exportServer(client, options, context)
      return writeExport({ place: client.endpoint.name, write }, options, context)
    }
    using cluster = usedCluster(options)
    if (cluster !== undefined) {
      const write = exportIndex(await cluster.readRecords(), options, context)
      return writeExport({ place: cluster.place, write }, options, context)
    }
    const folder = await getUsedFolder(options.data)
    const { index } = await readFolder(folder)
    const write = exportIndex(index, options, context)
    return writeExport({ place: folder.path, folder, write }, options, context)
  },
})

interface Source {
  /** For messages. */
  readonly place: string
  /** In which no export is written. */
  readonly folder?: DataPaths
  readonly write: (print: Print) => Promise<void>
}

/** Writes an export, and then names its source on standard error. A reader that leaves early is not an error. */
async function writeExport(
  source: Source,
  { format, output = '-' }: Pick<Options, 'output'> & Wanted,
  { print, screen }: CommandContext,
) {
  try {
    await writeTo(output, source, print)
  } catch (error) {
    // As with `ls`: `head` has what it wanted.
    if (error instanceof OutputError && systemCode(error.cause) === 'EPIPE') return
    throw error
  }
  screen.write(`Exported from ${source.place} as ${format}\n`)
}

/** Writes to standard output, to a pipe, or to a file that is replaced as a whole. */
async function writeTo(output: string, { write, folder }: Source, print: Print) {
  if (isStandardOutput(output)) return writeToOutput(write, 'the export', print)
  if (await isStream(output, CANNOT_WRITE)) return writeToStream(write, 'the export', output)
  using interruption = abortOnSignals()
  const path = await replacedPath(output, CANNOT_WRITE, folder?.path)
  await replaceFile(path, CANNOT_WRITE, write, interruption.signal, realFileSystem, true)
}

interface Wanted {
  readonly format: ExportFormatName
  readonly skip: boolean
}

function readFolder(folder: DataPaths): Promise<StoredRecords> {
  return readBetweenRestores(folder, async () => readStore(folder, true, await readListedChanges(folder)))
}

function exportIndex(
  index: ConfigurationIndex,
  { format, skip }: Wanted,
  { screen }: CommandContext,
): (print: Print) => Promise<void> {
  const records = index.freeze()
  const known = formatFor(format, index.hasLabels)
  const summary = runAtOnce(summarizeExport(known, records, Number.POSITIVE_INFINITY))
  if (summary.leftOut > 0) {
    const what = `${summary.leftOut} of ${counted(index.count, 'record')} as ${format}`
    const list = listOf(summary.obstacles)
    if (!skip) throw new ExportRefusedError(`Cannot export ${what}:\n${list}${REMEDY}`)
    screen.write(`connbook: Left out ${what}:\n${list}`)
  }
  warnOfGroups(summary.tail?.leftOutGroups ?? [], format, screen)
  return (print) => writePieces(exportPieces(known, records, summary), print)
}

async function exportServer(
  client: Client,
  { format, skip }: Wanted,
  { screen }: CommandContext,
): Promise<(print: Print) => Promise<void>> {
  try {
    const { body, leftOut, leftOutGroups } = await exportByServer(client, format, skip)
    warnOfGroups(leftOutGroups, format, screen)
    if (leftOut !== undefined)
      screen.write(
        `connbook: Left out what cannot be expressed as ${format}:\n${listOf(namedFaults(leftOut))}`,
      )
    return (print) => writeBytes(body, print)
  } catch (error) {
    if (!(error instanceof RefusedError) || error.problem !== 'not_expressible') throw error
    const list = listOf(namedFaults(error.faults))
    throw new ExportRefusedError(`Cannot export as ${format}:\n${list}${REMEDY}`, { cause: error })
  }
}

function warnOfGroups(names: readonly string[], format: ExportFormatName, screen: Screen) {
  if (names.length === 0) return
  const list = names.map((name) => printableJson(name)).join(', ')
  screen.write(
    `connbook: Left out groups that ${format} cannot have: ${list}; their hosts are in the export\n`,
  )
}

function namedFaults(faults: readonly Fault[]) {
  return faults.map(({ name = '', detail }) => ({ name, reason: escapeHidden(detail) }))
}

function listOf(obstacles: readonly { readonly name: string; readonly reason: string }[]): string {
  return obstacles.map(({ name, reason }) => `  ${printableJson(name)} ${reason}\n`).join('')
}

/** A character may be split between two pieces. */
async function writeBytes(body: AsyncIterable<Uint8Array>, print: Print) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of body) await print(decoder.decode(bytes, { stream: true }))
}

async function writePieces(pieces: Iterable<string>, print: Print) {
  for (const piece of pieces) await print(piece)
}

/** An export that a server begins to send. */
interface ServedExport {
  readonly body: OpenResponse['body']
  /** The first of the records that are left out, by name; undefined if none are. */
  readonly leftOut: readonly Fault[] | undefined
  /** The first groups that the format cannot have; their records are in the export. */
  readonly leftOutGroups: readonly string[]
}

/**
 * Asks a server for all records in the format of another tool.
 *
 * @param isSkipping Whether records that the format cannot express are left out.
 * @throws {RefusedError} also if there are such records, and they are not left out: its faults name the first ones.
 */
async function exportByServer(
  client: Client,
  format: ExportFormatName,
  isSkipping: boolean,
): Promise<ServedExport> {
  const ask = async (skip?: 1) => {
    const path = `/v1/export${queryOf({ format, skip })}`
    const { headers, body } = await client.open({ method: 'GET', path })
    if (typeOf(headers['content-type']) === typeOf(exportFormats[format].mediaType)) {
      const names = [headers['x-left-out-groups'] ?? ''].flat().join().split(',')
      return { body, leftOutGroups: names.filter((name) => name !== '').map(decodeURIComponent) }
    }
    await body[Symbol.asyncIterator]().return?.()
    throw new OtherAnswerError(
      `What ${client.endpoint.name} answers is no export as ${format}; is it a connbook?`,
    )
  }
  try {
    return { ...(await ask()), leftOut: undefined }
  } catch (error) {
    // Only the refusal names the records.
    if (!isSkipping || !(error instanceof RefusedError) || error.problem !== 'not_expressible') throw error
    return { ...(await ask(1)), leftOut: error.faults }
  }
}

/** A media type without its parameters. */
function typeOf(text = ''): string {
  return text.replace(/\s*;.*/s, '').toLowerCase()
}
