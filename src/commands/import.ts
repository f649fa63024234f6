import { resolve } from 'node:path'
import { findLastStart, type LastStart } from '../audit/trail-lines.ts'
import { UnreachableError } from '../client/call.ts'
import { type Client, createClient } from '../client/client.ts'
import { ownerCredential } from '../client/credential.ts'
import type { Endpoint } from '../client/endpoint.ts'
import { type FoundSocket, findOwnerSocket } from '../client/owner-socket.ts'
import { RefusedError } from '../client/refused.ts'
import { type CommandContext, DAMAGED, defineCommand, IN_USE } from '../command-line/command.ts'
import { elsewhereExitCodes } from '../command-line/exit-codes.ts'
import type { Options } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import { type Fault, FolderInUseError, FolderRefusedError, InvalidInputError, UsageError } from '../errors.ts'
import { asFlags, type ImportOptions, inQuery, parseImportOptions } from '../exchange/import-options.ts'
import { type ImportFormatName, importFormatNames } from '../exchange/import-reader.ts'
import { type DataFolder, type DataPaths, dataPaths, openDataFolder } from '../files/data-folder.ts'
import { IMPORT_BYTES_MAX } from '../limits.ts'
import { wordForShell } from '../shell.ts'
import { commandActor } from '../state/command-audit.ts'
import { isNewFolder, prepareFolder } from '../state/new-folder.ts'
import { isNodeFolder } from '../state/node-folder.ts'
import { getUsedFolder } from '../state/used-folder.ts'
import { planImport } from '../store/import-plan.ts'
import { eitherOf } from '../text.ts'
import { importByServer } from './import-by-server.ts'
import { type ImportOrder, importCall, importSshCalls, isGzip } from './import-call.ts'
import { readRecords } from './import-records.ts'
import {
  describeDone,
  describeTried,
  ImportRefusedError,
  type ImportReport,
  linesOf,
  reportOf,
} from './import-report.ts'
import { changeRecords, planRecords } from './import-to-store.ts'
import { clientFlags, connectElsewhere } from './remote/connect.ts'

const TOO_LONG = `it has more than ${IMPORT_BYTES_MAX} bytes, and a running server takes no more; make it several files, or stop the server`

const formatFlags = ['separator', 'map', 'extra', 'only', 'default'] as const

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
    'A server elsewhere is sent the file, if --server, CONNBOOK_SERVER or a kept login names it. Otherwise it goes to the data folder; if a server runs there, it imports the file. As root, name the folder then.',
    'A folder that is not there is made only if --data or CONNBOOK_DATA names it.',
    `A file with a fault changes nothing; the message names each fault with its line. FILE - is standard input. The format is ${eitherOf(importFormatNames)}: the end of the file name decides, or --format.`,
    'An SSH configuration is read as ssh reads it for whoever runs the command, Host *, Match by host names and Include too. Nothing is executed.',
  ],
  flags: ['format', 'mode', 'dryRun', ...formatFlags, 'user', 'skip', 'reason', ...clientFlags],
  exitCodes: { ...elsewhereExitCodes, 65: DAMAGED, 75: IN_USE },
  async run({ options, given, operands: [source = ''] }, context) {
    const format = formatOf(source, options.format)
    const path = resolve(options.data)
    checkSshOnly(format, given)
    const importOptions = optionsOf(options, format)
    const order = {
      ...{ source, format, mode: options.mode, isTrial: options.dryRun },
      ...{ username: options.user, isSkipping: options.skip, options: importOptions },
      reason: options.reason,
    }
    const client = await connectElsewhere({ options, given }, context, 'import')
    const importing =
      client === undefined ? importToFolder(path, given, order, context) : sendRecords(client, order, context)
    const report = await importing.catch((error: unknown) => {
      // Together with what is stored, a record of the file may break a rule.
      if (!(error instanceof InvalidInputError) || error.faults.length === 0) throw error
      throw new ImportRefusedError([error.message, ...linesOf(error.faults)].join('\n'), { cause: error })
    })
    const place = client?.endpoint.name ?? path
    if (order.isTrial)
      await shown(context.print(describeTried(report)), 'show what would change', '; nothing has changed')
    context.screen.write(
      order.isTrial ? `Compared with ${place}; nothing has changed\n` : describeDone(report, place),
    )
  },
})

async function importToFolder(
  path: string,
  given: ReadonlyMap<string, string>,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const isNamed = given.has('--data') || Boolean(context.environment.CONNBOOK_DATA)
  if (await isNodeFolder(dataPaths(path))) return importByNode(path, isNamed, order, context)
  if (await isNewFolder(path)) return importToNewFolder(path, order, context)
  return importToUsedFolder(path, isNamed, order, context)
}

/** @throws {FolderRefusedError} if no node runs on the folder. Also throws as `sendRecords` does. */
async function importByNode(
  path: string,
  isNamed: boolean,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const found = await findOwnerSocket(path, isNamed)
  const refused = (reason = 'it does not run', cause?: unknown) =>
    new FolderRefusedError(
      `Cannot import to "${path}": it is the folder of a node, whose records are in etcd, and the node cannot be sent the file: ${reason}; start it, or name one that runs with --server`,
      { cause },
    )
  if (found.endpoint === undefined) throw refused(found.reason)
  const client = clientAt(found.endpoint, order, context)
  return sendRecords(client, order, context).catch((cause: unknown) => {
    throw cause instanceof UnreachableError ? refused(undefined, cause) : cause
  })
}

/** Makes the folder once the whole file has been read. */
async function importToNewFolder(
  path: string,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const { mode, isTrial } = order
  const { drafts, read } = await readRecords(order, context)
  if (isTrial) {
    const nothing = { records: [], find: () => undefined, lastId: 0 }
    return reportOf(planImport(drafts, mode, nothing), read)
  }
  const folder = await prepareFolder(path, context)
  try {
    return reportOf(await changeRecords(folder, drafts, order, context))
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
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const { mode, isTrial } = order
  try {
    const { drafts, read } = await readRecords(order, context)
    const plan = isTrial
      ? await planRecords(folder, drafts, mode)
      : await changeRecords(folder, drafts, order, context)
    return reportOf(plan, read)
  } finally {
    folder.release()
  }
}

/** @throws {FolderInUseError} if the server cannot be called. Also throws as `sendRecords` does. */
async function importBesideServer(
  error: FolderInUseError,
  folder: DataPaths,
  found: FoundSocket,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  if (found.endpoint === undefined) {
    if (!found.mustBeNamed) throw await inUse(error, folder, order, found.reason)
    throw new FolderInUseError(
      `Cannot import to "${folder.path}": a server has the folder, and to call it, root must name the folder: --data ${wordForShell(folder.path)}`,
      { cause: error },
    )
  }
  const client = clientAt(found.endpoint, order, context)
  return sendRecords(client, order, context).catch(async (cause: unknown) => {
    throw cause instanceof UnreachableError ? await inUse(error, folder, order, cause.message) : cause
  })
}

/** Sends a server only what has no fault. Throws as `importByServer` does. */
async function sendRecords(
  client: Client,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const pieces: Buffer[] = []
  let bytes = 0
  const read = await readRecords(order, context, (piece) => {
    bytes += piece.length
    if (bytes > IMPORT_BYTES_MAX) throw new InvalidInputError(TOO_LONG)
    pieces.push(Buffer.from(piece))
  })
  try {
    return { ...(await importByServer(client, { ...order, pieces })), read: read.read }
  } catch (cause) {
    if (!(cause instanceof RefusedError) || cause.faults.length === 0) throw cause
    // Lines of a resolved SSH configuration are not those of the file.
    const faults = cause.faults.map((fault) => ({ ...fault, ...read.locationOf?.(fault.name ?? '') }))
    throw new ImportRefusedError([cause.message, ...linesOf(faults)].join('\n'), { cause })
  }
}

function formatOf(source: string, given: string | undefined): ImportFormatName {
  const told = given ?? formatsByEnding.find(([ending]) => `/${unpackedName(source)}`.endsWith(ending))?.[1]
  const format = importFormatNames.find((known) => known === told)
  if (format !== undefined) return format
  const what = told === undefined ? `tell the format of "${source}"` : `import ${told}`
  throw new UsageError(`Cannot ${what}; say --format with one of ${importFormatNames.join(', ')}`)
}

/** @throws {UsageError} naming each fault of the flags of some formats. */
function optionsOf(
  options: Pick<Options, (typeof formatFlags)[number]>,
  format: ImportFormatName,
): ImportOptions {
  const faults: Fault[] = []
  const { separator, extra, map, only, default: defaults } = options
  const words = { separator, extra, map, only, default: defaults }
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
function checkSshOnly(format: ImportFormatName, given: ReadonlyMap<string, string>) {
  const flag = ['--user', '--skip'].find((name) => given.has(name))
  if (flag !== undefined && format !== 'ssh-config')
    throw new UsageError(`${flag} is for ssh-config only; this file is ${format}`)
}

/** Gzip is unpacked, so the ending before `.gz` counts. */
function unpackedName(source: string): string {
  return source.toLowerCase().replace(/\.gz$/, '')
}

/** A client on the owner's socket. */
function clientAt(endpoint: Endpoint, { reason }: ImportOrder, { environment }: CommandContext): Client {
  return createClient(endpoint, ownerCredential(commandActor('import', environment)), true, reason)
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
  const advice = await adviceToSend(order, await findLastStart(folder))
  const lines = [error.message, ...(reason === undefined ? [] : [reason]), advice]
  return new FolderInUseError(lines.join('\n'), { cause: error })
}

async function adviceToSend(order: ImportOrder, server: LastStart | undefined): Promise<string> {
  if (order.format !== 'ssh-config')
    return `If a server has the folder, send it the file: ${importCall(order, server, await isGzip(order.source))}`
  const lines = importSshCalls(order, server)
  return `If a server has the folder, make the records in a new one, and send it those:\n${lines.map((line) => `  ${line}`).join('\n')}`
}
