import { readListedChanges } from '../audit/listed-changes.ts'
import { waitForCommands } from '../auth/credentials-lock.ts'
import { queryOf } from '../client/endpoint.ts'
import type { CommandContext } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import type { Print } from '../command-line/output.ts'
import { InvalidInputError, UsageError } from '../errors.ts'
import { exportPieces, summarizeExport } from '../exchange/export.ts'
import { exportFormats } from '../exchange/export-formats.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { printableJson } from '../json.ts'
import { parseFilterQuery } from '../resources/filter-query.ts'
import { runAtOnce } from '../scheduler.ts'
import { getUsedFolder, readBetweenRestores } from '../state/used-folder.ts'
import { readStore, type StoredRecords } from '../storage/file/file-storage.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { counted, escapeHidden } from '../text.ts'
import { escaped, leftOutGroupsText, leftOutText, refusedExport, warningsText } from './export-remarks.ts'
import { connectElsewhere } from './remote/connect.ts'
import { type FilterOptions, filterValues } from './remote/record-fields.ts'
import { parseWhere } from './remote/where.ts'
import { openServedExport, type WantedExport } from './served-export.ts'
import { usedCluster } from './used-cluster.ts'

/** An export that is ready to be written. */
export interface ExportSource {
  /** For messages. */
  readonly place: string
  /** In which no export is written. */
  readonly folder?: DataPaths
  readonly write: (print: Print) => Promise<void>
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
  const filter = parseExportFilters(wanted.query)
  const client = await connectElsewhere(input, context, command)
  if (client !== undefined) {
    const { remarks, write } = await openServedExport(client, wanted)
    context.screen.write(remarks)
    return { place: client.endpoint.name, write }
  }
  using cluster = usedCluster(options)
  if (cluster !== undefined) {
    const stored = await cluster.readRecords()
    return { place: cluster.place, write: exportStored(stored, { ...wanted, filter }, context) }
  }
  const folder = await getUsedFolder(options.data)
  await waitForCommands(folder)
  const stored = await readFolder(folder)
  return { place: folder.path, folder, write: exportStored(stored, { ...wanted, filter }, context) }
}

/** The filters of the flags as the query of a list. @throws {UsageError} as `parseWhere`. */
export function exportedQuery({ where, ...options }: FilterOptions & Pick<Options, 'where'>): string {
  return queryOf(filterValues(options), where === undefined ? [] : parseWhere(where, [])).slice(1)
}

/**
 * The same filters everywhere, so what is wrong with them is found before anybody is asked.
 *
 * @throws {UsageError}
 */
export function parseExportFilters(query: string): Filter | undefined {
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

function exportStored(
  { store, index }: StoredRecords,
  { format, skip, filter }: WantedExport & { readonly filter: Filter | undefined },
  { screen }: CommandContext,
): (print: Print) => Promise<void> {
  const exported = {
    store,
    records: index.freeze(),
    hasLabels: index.hasLabels,
    matches: filter && matcherOf(filter),
  }
  const summary = runAtOnce(summarizeExport(exportFormats[format], exported, Number.POSITIVE_INFINITY))
  if (summary.leftOut > 0) {
    const what = `${summary.leftOut} of ${counted(summary.count + summary.leftOut, 'record')} as ${format}`
    const obstacles = summary.obstacles.map(escaped)
    if (!skip) throw refusedExport(what, obstacles)
    screen.write(leftOutText(what, obstacles))
  }
  const { tail, warnings, warningCount } = summary
  const texts = warnings.map(escaped).map(({ name, reason }) => `${printableJson(name)} ${reason}`)
  screen.write(leftOutGroupsText(tail?.leftOutGroups ?? [], format) + warningsText(texts, warningCount))
  return (print) => writePieces(exportPieces(exported.records, summary), print)
}

async function writePieces(pieces: Iterable<string>, print: Print) {
  for (const piece of pieces) if (piece !== '') await print(piece)
}
