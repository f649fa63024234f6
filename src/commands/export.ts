import { readListedChanges } from '../audit/listed-changes.ts'
import type { OpenResponse } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import { type CommandContext, DAMAGED, defineCommand, type Screen } from '../command-line/command.ts'
import { elsewhereExitCodes } from '../command-line/exit-codes.ts'
import { clusterFlags, type Options } from '../command-line/options.ts'
import { OutputError, type Print } from '../command-line/output.ts'
import { ConnbookError, type Fault, InvalidInputError, systemCode, UsageError } from '../errors.ts'
import { EXPORT_WARNINGS_MAX, exportPieces, type RecordRemark, summarizeExport } from '../exchange/export.ts'
import { type ExportFormatName, exportFormats } from '../exchange/export-formats.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { replaceFile } from '../files/replaced-file.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { printableJson } from '../json.ts'
import { parseFilterQuery } from '../resources/filter-query.ts'
import { runAtOnce } from '../scheduler.ts'
import { readStore, type StoredRecords } from '../storage/file/file-storage.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { counted, escapeHidden } from '../text.ts'
import { clientFlags, connectElsewhere } from './remote/connect.ts'
import { type FilterOptions, filterFlags, filterValues } from './remote/record-fields.ts'
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
    const query = exportedQuery(options)
    const wanted = { ...options, filter: parseWanted(query) }
    const client = await connectElsewhere({ options, given }, context, 'export')
    if (client !== undefined) {
      const write = await exportServer(client, query, options, context)
      return writeExport({ place: client.endpoint.name, write }, options, context)
    }
    using cluster = usedCluster(options)
    if (cluster !== undefined) {
      const write = exportIndex(await cluster.readRecords(), wanted, context)
      return writeExport({ place: cluster.place, write }, options, context)
    }
    const folder = await getUsedFolder(options.data)
    const { index } = await readFolder(folder)
    const write = exportIndex(index, wanted, context)
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

/** The filters as the query of a list. */
function exportedQuery({ where = '', ...options }: FilterOptions & Pick<Options, 'where'>): string {
  const flags = queryOf(filterValues(options)).slice(1)
  return [flags, where.replace(/^\?/, '')].filter((text) => text !== '').join('&')
}

/** The same filters everywhere, so what is wrong with them is found before anybody is asked. */
function parseWanted(query: string): Filter | undefined {
  try {
    return parseFilterQuery(query)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    const lines = error.faults.map(
      ({ field, detail }) => `\n  ${escapeHidden(field)} ${escapeHidden(detail)}`,
    )
    throw new UsageError(`The filters are not valid${lines.join('')}`, { cause: error })
  }
}

function readFolder(folder: DataPaths): Promise<StoredRecords> {
  return readBetweenRestores(folder, async () => readStore(folder, true, await readListedChanges(folder)))
}

function exportIndex(
  index: ConfigurationIndex,
  { format, skip, filter }: Wanted & { readonly filter: Filter | undefined },
  { screen }: CommandContext,
): (print: Print) => Promise<void> {
  const exported = {
    records: index.freeze(),
    hasLabels: index.hasLabels,
    matches: filter && matcherOf(filter),
  }
  const summary = runAtOnce(summarizeExport(exportFormats[format], exported, Number.POSITIVE_INFINITY))
  if (summary.leftOut > 0) {
    const what = `${summary.leftOut} of ${counted(summary.count + summary.leftOut, 'record')} as ${format}`
    const list = listOf(summary.obstacles.map(escaped))
    if (!skip) throw new ExportRefusedError(`Cannot export ${what}:\n${list}${REMEDY}`)
    screen.write(`connbook: Left out ${what}:\n${list}`)
  }
  warnOfGroups(summary.tail?.leftOutGroups ?? [], format, screen)
  const { warnings, warningCount } = summary
  warnOf(
    warnings.map(escaped).map(({ name, reason }) => `${printableJson(name)} ${reason}`),
    warningCount,
    screen,
  )
  return (print) => writePieces(exportPieces(exported.records, summary), print)
}

async function exportServer(
  client: Client,
  query: string,
  { format, skip }: Wanted,
  { screen }: CommandContext,
): Promise<(print: Print) => Promise<void>> {
  try {
    const { body, leftOut, leftOutGroups, warnings, warningCount } = await exportByServer(
      client,
      query,
      format,
      skip,
    )
    warnOfGroups(leftOutGroups, format, screen)
    warnOf(warnings, warningCount, screen)
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

function warnOf(warnings: readonly string[], count: number, screen: Screen) {
  if (count === 0) return
  const more = count - warnings.length
  const lines = warnings.slice(0, EXPORT_WARNINGS_MAX).map((text) => `  ${text}\n`)
  screen.write(`connbook: Warnings:\n${lines.join('')}${more > 0 ? `  and ${more} more\n` : ''}`)
}

function escaped({ name, reason }: RecordRemark): RecordRemark {
  return { name, reason: escapeHidden(reason) }
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
  /** The first ones. */
  readonly warnings: readonly string[]
  readonly warningCount: number
}

/**
 * Asks a server for records in the format of another tool.
 *
 * @param query The filters.
 * @param isSkipping Whether records that the format cannot express are left out.
 * @throws {RefusedError} also if there are such records, and they are not left out: its faults name the first ones.
 */
async function exportByServer(
  client: Client,
  query: string,
  format: ExportFormatName,
  isSkipping: boolean,
): Promise<ServedExport> {
  const ask = async (skip?: 1) => {
    const path = `/v1/export${queryOf({ format, skip })}${query === '' ? '' : `&${query}`}`
    const { headers, body } = await client.open({ method: 'GET', path })
    if (typeOf(headers['content-type']) === typeOf(exportFormats[format].mediaType)) {
      return {
        body,
        leftOutGroups: textsOf(headers['x-left-out-groups']),
        warnings: textsOf(headers['x-warning']).map(escapeHidden),
        warningCount: Number(headers['x-warning-count'] ?? 0),
      }
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

/** Percent-encoded texts with commas between them. */
function textsOf(header: string | readonly string[] = ''): string[] {
  const texts = [header].flat().join().split(',')
  return texts.filter((text) => text !== '').map(decodeURIComponent)
}

/** A media type without its parameters. */
function typeOf(text = ''): string {
  return text.replace(/\s*;.*/s, '').toLowerCase()
}
