import { resolve } from 'node:path'
import type { Accounts } from '../auth/accounts.ts'
import type { Clock } from '../auth/clock.ts'
import type { InitialCredentials } from '../auth/initial-credentials.ts'
import { warnOfMissingAccess } from '../auth/live-accounts.ts'
import { auditFiles, dataPaths } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { type DataFolder, leaveFolder, openDataFolder } from '../files/owned-folder.ts'
import type { Log } from '../log.ts'
import { Scheduler } from '../scheduler.ts'
import type { TlsTexts } from '../server/http-server.ts'
import { Listener } from '../server/listener.ts'
import { createTrust } from '../server/proxy-trust.ts'
import { checkHasStarted } from '../state/used-folder.ts'
import { recordMemory } from '../store/record-room.ts'
import { inTurn } from '../system-account.ts'
import { version } from '../version.ts'
import { type Book, openBook } from './book.ts'
import { accessCluster, openClusterState } from './cluster-state.ts'
import { type OpenedState, openFolderState } from './folder-state.ts'
import { collectWhenIdle } from './idle-collection.ts'
import { listen } from './listen.ts'
import { listenForOwner } from './owner-socket.ts'
import { ServedApps } from './served-apps.ts'
import type { ServerOptions } from './server-options.ts'
import { warnOfClock } from './start-checks.ts'

/** A running server. */
export interface Service {
  /** Base path included, without a slash at the end. */
  readonly url: string
  /** The IP address listened on; undefined for a Unix socket. */
  readonly address: string | undefined
  /** As in `Reached`. */
  readonly socket: string | undefined
  readonly folder: DataFolder
  readonly records: number
  /** Estimated memory of the records. */
  readonly recordBytes: number
  /** The credentials that the first start generated; undefined for a later start. */
  readonly madeUp: InitialCredentials | undefined
  /** Resolves, if ever, with the reason why it must be stopped. */
  readonly failed: Promise<Error>
  /** As in `Listener`. */
  useCertificate(tls: TlsTexts): void
  /** Reads the files again by which etcd lets this node in; undefined if there are none. */
  readonly reloadCluster: (() => void) | undefined
  /** Answers requests in flight, closes everything and releases the folder; a further call waits for the same end. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  readonly options: ServerOptions
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  /** Plain HTTP if absent. */
  readonly tls?: TlsTexts | undefined
  readonly files?: FileSystem
  readonly makeClock?: (notBefore: number) => Clock
  /** As in `LockWait`. */
  readonly lockWaitMs?: number
  /** Gives up the start when it is aborted. */
  readonly signal?: AbortSignal
}

/**
 * Locks the data folder, listens, and reads the folder. Until that is done, `/healthz` answers 200 and `/readyz` 503;
 * other requests wait, and are answered 503 after LONG_START_MS.
 *
 * @throws {UsageError} {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ListenError} if it cannot start;
 *   then nothing is left running, and no new folder with nothing in it.
 */
export async function startService(service: ServiceOptions): Promise<Service> {
  const opened = new AsyncDisposableStack()
  try {
    return await start(service, opened)
  } catch (error) {
    // The first error says more than those that follow from it.
    await opened.disposeAsync().catch(() => {})
    throw error
  }
}

/**
 * The steps of a start, in order. Each leaves in `opened` what undoes it: a stop, and a start that fails, undo them from the
 * last to the first.
 */
async function start(service: ServiceOptions, opened: AsyncDisposableStack): Promise<Service> {
  const { options, environment, log, tls, makeClock, signal } = service
  const cluster = accessCluster(options, log)
  const folder = await lockFolder(service, cluster !== undefined, opened)
  const scheduler = new Scheduler()
  opened.defer(collectWhenIdle())
  const apps = new ServedApps(options)
  const listener = createListener(service, apps, scheduler)
  // For a failed start; a started service drains before, see below.
  opened.defer(() => drain(listener, 0))
  // First, so that `--listen` cannot take its path.
  const leaveOwner = await listenForOwner(listener, folder, log)
  const { origin, address, socket } = await listen(listener, options, environment, tls !== undefined)
  const place = { url: origin + options.basePath, address, socket }
  apps.limitWaiting(() => log.info('reading', { url: place.url, socket, data: folder.path }))
  opened.defer(() => apps.close())

  let isStarted = false
  const book = await openBook({
    ...{ folder, options, environment, log, scheduler, makeClock, signal, opened },
    ttlSeconds: Math.max(options.sessionTtlSeconds, options.tokenTtlSeconds),
    auditFileBytes: Math.floor(options.auditKeepBytes / auditFiles.length),
    openState: (parts) =>
      cluster === undefined
        ? openFolderState(parts)
        : openClusterState(parts, cluster, options.maxStalenessSeconds * 1000),
    hasStarted: () => isStarted,
    isStopping: () => listener.isDraining,
    metrics: listener.metrics,
  })
  const { state } = book
  warnOfState(state, book.newestTime, log)

  isStarted = true
  await recordStart(folder, book, place)
  apps.replace(book.apps)
  opened.defer(async () => {
    // A folder that is gone has no socket any more.
    await leaveOwner().catch(() => {})
    // The requests that wait are answered at once, so that the drain does not wait for them.
    book.endWaiting()
    await drain(listener, options.shutdownTimeoutSeconds * 1000)
  })
  let stopped: Promise<void> | undefined
  return {
    ...place,
    folder,
    records: state.store.count,
    recordBytes: recordMemory(state.store),
    madeUp: state.madeUp,
    useCertificate: (next) => listener.useCertificate(next),
    reloadCluster: cluster?.reload,
    failed: state.failed,
    stop: () => (stopped ??= closeAll(opened)),
  }
}

/** Locks the data folder, and completes a restore that was interrupted. */
async function lockFolder(
  { options, files, log, lockWaitMs, signal }: ServiceOptions,
  isCluster: boolean,
  opened: AsyncDisposableStack,
): Promise<DataFolder> {
  const path = resolve(options.data)
  if (options.existing) await checkHasStarted(dataPaths(path, files), isCluster)
  const wait = { signal, ...(lockWaitMs === undefined ? {} : { lockWaitMs }) }
  const folder = await openDataFolder(path, files, wait)
  opened.defer(() => leaveFolder(folder))
  if (folder.completedRestore !== undefined)
    log.warn('interrupted_restore_completed', { restore: folder.completedRestore })
  return folder
}

function createListener(
  { options, log, tls }: ServiceOptions,
  apps: ServedApps,
  scheduler: Scheduler,
): Listener {
  return new Listener({
    app: (request) => apps.now.all(request),
    ownerApp: (request) => apps.now.owner(request),
    scheduler,
    log,
    hasAccessLog: options.accessLog,
    trustedProxies: options.trustProxy && createTrust(options.trustProxy),
    tls,
  })
}

/** In its turn, because closing removes the file of a socket. */
async function drain(listener: Listener, timeoutMs: number): Promise<void> {
  const { drained } = await inTurn(() => ({ drained: listener.drain(timeoutMs) }))
  await drained
}

/** @param newestTime Latest time in the audit trail. */
function warnOfState(
  { ignored, revocations, accounts, credentials }: OpenedState,
  newestTime: number | undefined,
  log: Log,
): void {
  const variables = ignored.join(' ')
  if (variables !== '')
    log.warn('first_start_variables_ignored', { variables, reason: 'the accounts exist already' })
  warnOfClock({ session: revocations.clock.now(), trail: newestTime }, log)
  warnOfMissingAccess(accounts, credentials.commandOf, log)
}

/** Lists in the audit trail that the server has started, and how it came to its state. */
async function recordStart(
  { completedRestore }: DataFolder,
  { audit, state: { accounts, madeUp, store, listedAfter } }: Book,
  { url, socket }: Pick<Service, 'url' | 'socket'>,
): Promise<void> {
  if (completedRestore !== undefined)
    await audit.record('restored', undefined, { completed: completedRestore })
  if (madeUp !== undefined) await audit.record('first_started', undefined, namesOf(accounts))
  await audit.begin(store.tag, { version, pid: process.pid, url, socket, after: listedAfter })
}

/** @throws The first failure: it says more than those that follow from it. Everything else is closed all the same. */
async function closeAll(opened: AsyncDisposableStack): Promise<void> {
  try {
    await opened.disposeAsync()
  } catch (error) {
    let first: unknown = error
    while (first instanceof SuppressedError) first = first.suppressed
    throw first
  }
}

function namesOf({ users, clients }: Accounts) {
  return { users: users.map(({ name }) => name), clients: clients.map(({ name }) => name) }
}
