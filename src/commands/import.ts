import { resolve } from 'node:path'
import { findLastStart } from '../audit/last-start.ts'
import { readListedChanges } from '../audit/listed-changes.ts'
import { recordIfUnchanged } from '../audit/unchanged-import.ts'
import { UnreachableError } from '../client/call.ts'
import { type FoundSocket, findOwnerSocket } from '../client/owner-socket.ts'
import { type CommandContext, DAMAGED, defineCommand, IN_USE } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { createProgress } from '../command-line/progress.ts'
import { ConnbookError, type Fault, FolderInUseError, InvalidInputError, UsageError } from '../errors.ts'
import { type ImportFormatName, importFormatNames } from '../exchange/import-formats.ts'
import { createImportReader, type ImportedRecords } from '../exchange/import-reader.ts'
import { type DataFolder, type DataPaths, openDataFolder } from '../files/data-folder.ts'
import { commandActor, openCommandTrail } from '../folder/command-audit.ts'
import { isNewFolder, prepareFolder } from '../folder/new-folder.ts'
import { getUsedFolder } from '../folder/used-folder.ts'
import { printable } from '../json.ts'
import { FAULTS_MAX, IMPORT_BYTES_MAX } from '../limits.ts'
import { createLog } from '../log.ts'
import { fileStorage, openConfigurationStore } from '../storage/file/file-storage.ts'
import type { ImportMode } from '../store/import-mode.ts'
import { type ImportPlan, planImport } from '../store/import-plan.ts'
import { counted } from '../text.ts'
import { importByServer, ServerRefusedError } from './import-by-server.ts'
import { type ImportOrder, importCall, isGzip } from './import-call.ts'
import { readInput } from './import-input.ts'
import { describeDone, describeTried, type ImportReport, reportOf } from './import-report.ts'

/** The file has faults; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

const TOO_LONG = `it has more than ${IMPORT_BYTES_MAX} bytes, which is the most that a running server takes; make it several files, or stop the server`

const formatsByEnding: readonly (readonly [ending: string, format: ImportFormatName])[] = [
  ['.json', 'json'],
  ['.jsonl', 'jsonl'],
  ['.ndjson', 'jsonl'],
  ['.csv', 'csv'],
  ['ssh_config', 'ssh-config'],
  ['.ssh/config', 'ssh-config'],
]

/**
 * Changes the folder of a stopped server; a running server is sent the file. Makes all changes, or none.
 *
 * It throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ImportRefusedError} {ServerRefusedError}
 * {StorageFullError}; then nothing has changed. After {NoAnswerError} this is not known.
 */
export const importCommand = defineCommand({
  name: 'import',
  operands: 'FILE',
  otherOperand: '- --format FORMAT',
  summary: 'add and change many records: all of them, or none',
  examples: [
    ['connbook import hosts.csv --dry-run', 'changes nothing'],
    ['connbook import hosts.csv --mode replace', 'removes all others'],
    ['connbook import - --format ssh-config < ~/.ssh/config', ''],
  ],
  notes: [
    'While a server runs on the folder, it imports the file. As root, name the folder then.',
    'A file with a fault changes nothing; the message names each fault with its line. FILE - is standard input. The format is json, jsonl, csv or ssh-config: the end of the file name decides, or --format.',
  ],
  flags: ['data', 'format', 'mode', 'dryRun'],
  exitCodes: { 65: DAMAGED, 75: IN_USE },
  async run({ options, given, operands: [source = ''] }, context) {
    const format = formatOf(source, options.format)
    const path = resolve(options.data)
    const order = { source, format, mode: options.mode, isTrial: options.dryRun }
    const isNamed = given.has('--data') || Boolean(context.environment.CONNBOOK_DATA)
    const importing = (await isNewFolder(path))
      ? importToNewFolder(path, order, context)
      : importToUsedFolder(path, isNamed, order, context)
    const report = await importing.catch((error: unknown) => {
      // Together with what is stored, a record of the file may break a rule.
      if (!(error instanceof InvalidInputError) || error.faults.length === 0) throw error
      throw new ImportRefusedError([error.message, ...linesOf(error.faults)].join('\n'), { cause: error })
    })
    const text = order.isTrial ? describeTried(report) : describeDone(report, path)
    const state = order.isTrial ? 'nothing has changed' : 'the import is complete'
    await shown(context.print(text), 'show what was done', `; ${state}`)
  },
})

/** Makes the folder once the whole file has been read. */
async function importToNewFolder(
  path: string,
  { source, format, mode, isTrial }: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const drafts = await readDrafts(source, format, context)
  if (isTrial) return reportOf(planImport(drafts, mode, { records: [], find: () => undefined, lastId: 0 }))
  const folder = await prepareFolder(path, context)
  try {
    return reportOf(await changeRecords(folder, drafts, mode, context))
  } finally {
    folder.release()
  }
}

/** @param isNamed Whether the caller named the folder. */
async function importToUsedFolder(
  path: string,
  isNamed: boolean,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const used = await getUsedFolder(path)
  const folder = await openDataFolder(path).catch((error: unknown) => {
    if (error instanceof FolderInUseError) return error
    throw error
  })
  return folder instanceof FolderInUseError
    ? importBesideServer(folder, used, await findOwnerSocket(path, isNamed), order, context)
    : importAlone(folder, order, context)
}

async function importAlone(
  folder: DataFolder,
  { source, format, mode, isTrial }: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  try {
    const drafts = await readDrafts(source, format, context)
    const plan = isTrial
      ? await planRecords(folder, drafts, mode)
      : await changeRecords(folder, drafts, mode, context)
    return reportOf(plan)
  } finally {
    folder.release()
  }
}

/**
 * Sends the server only what has no fault.
 *
 * @throws {FolderInUseError} if the server cannot be called.
 */
async function importBesideServer(
  error: FolderInUseError,
  folder: DataPaths,
  found: FoundSocket,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const { source, format } = order
  if (found.path === undefined) throw await inUse(error, folder, order, found.reason)
  const pieces: Buffer[] = []
  let bytes = 0
  await readDrafts(source, format, context, (piece) => {
    bytes += piece.length
    if (bytes > IMPORT_BYTES_MAX) throw new InvalidInputError(TOO_LONG)
    pieces.push(Buffer.from(piece))
  })
  try {
    return await importByServer(found.path, { ...order, pieces })
  } catch (cause) {
    if (cause instanceof UnreachableError) throw await inUse(error, folder, order, cause.message)
    if (!(cause instanceof ServerRefusedError) || cause.faults.length === 0) throw cause
    throw new ImportRefusedError([cause.message, ...linesOf(cause.faults)].join('\n'), { cause })
  }
}

function formatOf(source: string, given: string | undefined): ImportFormatName {
  const told = given ?? formatsByEnding.find(([ending]) => unpackedName(source).endsWith(ending))?.[1]
  const format = importFormatNames.find((known) => known === told)
  if (format !== undefined) return format
  const what = told === undefined ? `tell the format of "${source}"` : `import ${told}`
  throw new UsageError(`Cannot ${what}; say --format with one of ${importFormatNames.join(', ')}`)
}

/** Gzip is unpacked, so the ending before `.gz` counts. */
function unpackedName(source: string): string {
  return source.toLowerCase().replace(/\.gz$/, '')
}

/** @param take Gets each piece, too, valid only during the call. */
async function readDrafts(
  source: string,
  format: ImportFormatName,
  context: CommandContext,
  take: (piece: Buffer) => void = () => {},
) {
  const reader = createImportReader(format, FAULTS_MAX)
  const progress = createProgress(`Reading ${source}`, context.screen)
  try {
    await readInput(source, context, (piece, share) => {
      take(piece)
      reader.read(piece)
      progress.show(share)
    })
    const read = reader.end()
    if (read.faultCount > 0) throw refusal(source, read)
    return read.drafts
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new ImportRefusedError(`Cannot import ${source}: ${error.message}; nothing has changed`)
  } finally {
    progress.end()
  }
}

/** Changes nothing in the folder. */
async function planRecords(
  folder: DataFolder,
  drafts: ImportedRecords['drafts'],
  mode: ImportMode,
): Promise<ImportPlan> {
  const { index } = await fileStorage(folder).read(true, await readListedChanges(folder))
  return planImport(drafts, mode, {
    records: index.freeze(),
    find: (name) => index.find(name),
    lastId: index.lastId,
  })
}

async function changeRecords(
  folder: DataFolder,
  drafts: ImportedRecords['drafts'],
  mode: ImportMode,
  context: CommandContext,
): Promise<ImportPlan> {
  // Without what a server logs when it opens the store.
  const log = { ...createLog('text', (line) => context.screen.write(line)), info: () => {} }
  const trail = await openCommandTrail(context, folder)
  try {
    const store = await openConfigurationStore(folder, { mustExist: true, log, trail })
    try {
      const actor = commandActor('import')
      const plan = await store.importAll(actor, drafts, mode)
      await recordIfUnchanged(trail, actor, mode, plan)
      // The trail has shown why it cannot be written; the next start completes it.
      await trail.sync().catch(() => {})
      return plan
    } finally {
      await store.close()
    }
  } finally {
    await trail.close().catch((error: unknown) => log.error('audit_not_written', { reason: String(error) }))
  }
}

function refusal(source: string, { faults, faultCount }: ImportedRecords): ImportRefusedError {
  const rest = faultCount - faults.length
  return new ImportRefusedError(
    `Cannot import ${source}: ${counted(faultCount, 'fault')}; nothing has changed\n` +
      linesOf(faults).join('\n') +
      (rest > 0 ? `\n  and ${rest} more` : ''),
  )
}

function linesOf(faults: readonly Fault[]): string[] {
  return faults.map((fault) => `  ${describeFault(fault)}`)
}

function describeFault({ line, name, field, detail }: Fault): string {
  const places = [
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(name === undefined ? [] : [JSON.stringify(name)]),
  ]
  return printable(`${places.join(', ')}: ${JSON.stringify(field).slice(1, -1)} ${detail}`)
}

/**
 * Advises to send the file by curl to the server that may have the folder: a command may have it as well.
 *
 * @param reason Why the owner's socket is no help; undefined if the server has none.
 */
async function inUse(
  error: FolderInUseError,
  folder: DataPaths,
  order: ImportOrder,
  reason: string | undefined,
) {
  const line = importCall(order, await findLastStart(folder), await isGzip(order.source))
  const advice = `If a server has the folder, send it the file: ${line}`
  const lines = [error.message, ...(reason === undefined ? [] : [reason]), advice]
  return new FolderInUseError(lines.join('\n'), { cause: error })
}
