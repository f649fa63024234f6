import { recordIfUnchanged } from '../audit/audit-trail.ts'
import { readListedChanges } from '../audit/listed-changes.ts'
import { withCredentialsLock } from '../auth/credentials-lock.ts'
import { NoAnswerError, UnreachableError } from '../client/call.ts'
import { Client } from '../client/client.ts'
import { ownerCredential } from '../client/credential.ts'
import { type Endpoint, queryOf } from '../client/endpoint.ts'
import { type FoundSocket, findOwnerSocket } from '../client/owner-socket.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import type { CommandContext } from '../command-line/command.ts'
import { FolderInUseError, FolderRefusedError, InvalidInputError } from '../errors.ts'
import { importQuery } from '../exchange/import-options.ts'
import { type DataFolder, type DataPaths, dataPaths, openDataFolder } from '../files/data-folder.ts'
import { isObject } from '../json.ts'
import { IMPORT_BYTES_MAX } from '../limits.ts'
import { createLog } from '../log.ts'
import { wordForShell } from '../shell.ts'
import { commandActor, openCommandTrail } from '../state/command-audit.ts'
import { isNewFolder, prepareFolder } from '../state/new-folder.ts'
import { isNodeFolder } from '../state/node-folder.ts'
import { getUsedFolder } from '../state/used-folder.ts'
import { openConfigurationStore, readStore } from '../storage/file/file-storage.ts'
import type { ImportMode } from '../store/authorship.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { countsOf, planImport } from '../store/import-plan.ts'
import { isFolderNamed } from './chosen-folder.ts'
import { type ImportOrder, readRecords } from './import-records.ts'
import { ImportRefusedError, type ImportReport, linesOf, reportOf } from './import-report.ts'

const TOO_LONG = `it has more than ${IMPORT_BYTES_MAX} bytes, and a running server takes no more; make it several files, or stop the server`

/**
 * Imports a file to a data folder; a server that has the folder is sent the file.
 *
 * @param given The flags that were typed.
 * @throws as the command `import` does.
 */
export async function importToFolder(
  path: string,
  given: ReadonlyMap<string, string>,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const isNamed = isFolderNamed({ given }, context.environment)
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
    return reportOf(await withCredentialsLock(folder, () => changeRecords(folder, drafts, order, context)))
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
    // With this lock held, other commands know that a command uses the folder, and wait.
    return await withCredentialsLock(folder, async () => {
      const { drafts, read } = await readRecords(order, context)
      const plan = isTrial
        ? await planRecords(folder, drafts, mode)
        : await changeRecords(folder, drafts, order, context)
      return reportOf(plan, read)
    })
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
    if (!found.mustBeNamed) throw inUse(error, found.reason)
    throw new FolderInUseError(
      `Cannot import to "${folder.path}": a server has the folder, and to call it, root must name the folder: --data ${wordForShell(folder.path)}`,
      { cause: error },
    )
  }
  const client = clientAt(found.endpoint, order, context)
  return sendRecords(client, order, context).catch((cause: unknown) => {
    throw cause instanceof UnreachableError ? inUse(error, cause.message) : cause
  })
}

/** Sends a server only what has no fault. Throws as `importByServer` does. */
export async function sendRecords(
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
    return { ...(await importByServer(client, order, pieces)), read: read.read }
  } catch (cause) {
    if (!(cause instanceof RefusedError) || cause.faults.length === 0) throw cause
    // Lines of a resolved SSH configuration are not those of the file.
    const faults = cause.faults.map((fault) => ({ ...fault, ...read.locationOf?.(fault.name ?? '') }))
    throw new ImportRefusedError([cause.message, ...linesOf(faults)].join('\n'), { cause })
  }
}

/**
 * Has a server import a file.
 *
 * @throws {UnreachableError} {UntrustedError} {RefusedError} Then nothing has changed.
 * @throws {NoAnswerError} {OtherAnswerError} if it may have been imported; the message says what to do.
 */
async function importByServer(
  client: Client,
  { format, mode, isTrial, options }: ImportOrder,
  body: readonly Uint8Array[],
): Promise<ImportReport> {
  const path = `/v1/import${queryOf({ format, mode, dry_run: isTrial ? 1 : undefined, ...importQuery(options) })}`
  const answer = await client.askJson({ method: 'POST', path, body }).catch((error: unknown) => {
    if (!(error instanceof NoAnswerError) || isTrial) throw error
    const advice = 'whether it has imported the file is not known; run the same command again'
    throw new NoAnswerError(`${error.message}; ${advice}`, { cause: error })
  })
  if (isReport(answer)) return answer
  throw new OtherAnswerError(`${client.endpoint.name} does not say what it has imported; is it a connbook?`)
}

function isReport(input: unknown): input is ImportReport {
  if (!isObject(input)) return false
  return ['added', 'modified', 'removed', 'unchanged'].every((count) => typeof input[count] === 'number')
}

/** Changes nothing in the folder. */
async function planRecords(
  folder: DataFolder,
  drafts: readonly ImportedConfiguration[],
  mode: ImportMode,
): Promise<ImportPlan> {
  const { index } = await readStore(folder, true, await readListedChanges(folder))
  return planImport(drafts, mode, {
    records: index.freeze(),
    find: (name) => index.find(name),
    lastId: index.lastId,
  })
}

/** Imports them without a server. */
async function changeRecords(
  folder: DataFolder,
  drafts: readonly ImportedConfiguration[],
  { mode, reason }: ImportOrder,
  context: CommandContext,
): Promise<ImportPlan> {
  // Without what a server logs when it opens the store.
  const log = { ...createLog('text', (line) => context.screen.write(line)), info: () => {} }
  const trail = await openCommandTrail(context, folder)
  try {
    const store = await openConfigurationStore(folder, { mustExist: true, log, trail })
    try {
      const command = commandActor('import', context.environment)
      const actor = reason === undefined ? command : { ...command, reason }
      const plan = await store.importAll(actor, drafts, mode)
      await recordIfUnchanged(trail, actor, { import: { mode, ...countsOf(plan) } })
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

/** A client on the owner's socket. */
function clientAt(endpoint: Endpoint, { reason }: ImportOrder, { environment }: CommandContext): Client {
  return new Client(endpoint, ownerCredential(commandActor('import', environment)), true, reason)
}

/**
 * Advises to name the server, if one has the folder: it may be a command that has it.
 *
 * @param reason Why the owner's socket does not help; undefined if the server has none.
 */
function inUse(error: FolderInUseError, reason: string | undefined): FolderInUseError {
  const advice =
    'If a server has the folder, send it the file: in place of --data, give --server its URL or unix:PATH, after "connbook login"'
  const lines = [error.message, ...(reason === undefined ? [] : [reason]), advice]
  return new FolderInUseError(lines.join('\n'), { cause: error })
}
