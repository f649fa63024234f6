import { readListedChanges } from '../audit/listed-changes.ts'
import type { OpenResponse } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import type { CommandContext, Screen } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import type { Print } from '../command-line/output.ts'
import { ConnbookError, type Fault, InvalidInputError, UsageError } from '../errors.ts'
import { EXPORT_WARNINGS_MAX, exportPieces, type RecordRemark, summarizeExport } from '../exchange/export.ts'
import { type ExportFormatName, exportFormats } from '../exchange/export-formats.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { printableJson } from '../json.ts'
import { parseFilterQuery } from '../resources/filter-query.ts'
import { runAtOnce } from '../scheduler.ts'
import { readStore, type StoredRecords } from '../storage/file/file-storage.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { counted, escapeHidden } from '../text.ts'
import { connectElsewhere } from './remote/connect.ts'
import { type FilterOptions, filterValues } from './remote/record-fields.ts'
import { parseWhere } from './remote/where.ts'
import { usedCluster } from './used-cluster.ts'

const REMEDY = 'Nothing was written; rename or change them, or leave them out with --skip'

/** The format cannot express some records, and `--skip` was not given. */
export class ExportRefusedError extends ConnbookError {
  readonly code = 'not_expressible'
}

/** An export that is ready to be written. */
export interface ExportSource {
  /** For messages. */
  readonly place: string
  /** In which no export is written. */
  readonly folder?: DataPaths
  readonly write: (print: Print) => Promise<void>
}

/** What is exported, and how. */
export interface WantedExport {
  readonly format: ExportFormatName
  /** Whether records that the format cannot express are left out. */
  readonly skip: boolean
  /** The filters as the query of a list; '' without any. */
  readonly query: string
}

/**
 * Asks the server that the options name, or reads the cluster or the folder. Warnings go to standard error.
 *
 * @throws {UsageError} {ExportRefusedError} {FolderRefusedError} {DamagedFileError}; as `Client.open` does.
 */
export async function openSource(
  input: Parameters<typeof connectElsewhere>[0] & {
    readonly options: Parameters<typeof usedCluster>[0] & Pick<Options, 'data'>
  },
  command: string,
  wanted: WantedExport,
  context: CommandContext,
): Promise<ExportSource> {
  const { options } = input
  const filter = parseWanted(wanted.query)
  const client = await connectElsewhere(input, context, command)
  if (client !== undefined)
    return { place: client.endpoint.name, write: await exportServer(client, wanted, context) }
  using cluster = usedCluster(options)
  if (cluster !== undefined) {
    const index = await cluster.readRecords()
    return { place: cluster.place, write: exportIndex(index, { ...wanted, filter }, context) }
  }
  const folder = await getUsedFolder(options.data)
  const { index } = await readFolder(folder)
  return { place: folder.path, folder, write: exportIndex(index, { ...wanted, filter }, context) }
}

/** The filters of the flags as the query of a list. @throws {UsageError} as `parseWhere`. */
export function exportedQuery({ where, ...options }: FilterOptions & Pick<Options, 'where'>): string {
  return queryOf(filterValues(options), where === undefined ? [] : parseWhere(where, [])).slice(1)
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
  { format, skip, filter }: WantedExport & { readonly filter: Filter | undefined },
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
  { query, format, skip }: WantedExport,
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
  return texts.filter((text) => text !== '').map(decoded)
}

/** As it is, if a proxy has spoilt it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A media type without its parameters. */
function typeOf(text = ''): string {
  return text.replace(/\s*;.*/s, '').toLowerCase()
}
