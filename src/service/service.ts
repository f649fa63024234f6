import { resolve } from 'node:path'
import { openAuditTrail } from '../audit/audit-trail.ts'
import { RecordHistories } from '../audit/record-history.ts'
import { findNewestTime } from '../audit/trail-lines.ts'
import { createAccountAdministration } from '../auth/account-administration.ts'
import type { Accounts } from '../auth/accounts.ts'
import { createAuthenticator } from '../auth/authenticator.ts'
import type { Clock } from '../auth/clock.ts'
import type { InitialCredentials } from '../auth/initial-credentials.ts'
import { followAccounts, warnOfMissingAccess } from '../auth/live-accounts.ts'
import { followKeys } from '../auth/live-keys.ts'
import { loginMetrics } from '../auth/secret-checks.ts'
import { auditFiles, type DataFolder, dataPaths, openDataFolder } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import { processMetrics, watchEventLoop } from '../metrics/process-metrics.ts'
import { RecentFigures } from '../metrics/recent-figures.ts'
import { createRoutes, createStartingRoutes } from '../resources/routes.ts'
import { createSubscriptions } from '../resources/subscriptions.ts'
import { Scheduler } from '../scheduler.ts'
import { type App, createApp, createStartingApp, STILL_READING } from '../server/app.ts'
import type { TlsTexts } from '../server/http-server.ts'
import { Listener } from '../server/listener.ts'
import { createTrust } from '../server/proxy-trust.ts'
import { backupMetrics } from '../state/backup.ts'
import { checkHasStarted } from '../state/used-folder.ts'
import { recordMemory } from '../store/record-room.ts'
import { storeMetrics } from '../store/store-metrics.ts'
import { version } from '../version.ts'
import { accessCluster, openClusterState } from './cluster-state.ts'
import { openFolderState } from './folder-state.ts'
import { collectWhenIdle } from './idle-collection.ts'
import { listen } from './listen.ts'
import { listenForOwner } from './owner-socket.ts'
import type { ServerOptions } from './server-options.ts'
import { warnOfClock } from './start-checks.ts'

/** A longer start is logged, and requests are answered at once instead of waiting for its end. */
export const LONG_START_MS = 1_000

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
  /** Gives up the start when it is aborted. */
  readonly signal?: AbortSignal
}

/**
 * Locks the data folder, listens, and reads the folder. Until that is done, `/healthz` answers 200 and `/readyz` 503;
 * other requests wait, and are answered 503 after LONG_START_MS.
 *
 * @throws {UsageError} {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ListenError} if it cannot start;
 *   then nothing is left running.
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

async function start(
  { options, environment, log, tls, files, makeClock, signal }: ServiceOptions,
  /** Gets what must be closed when the service stops, or cannot start. */
  opened: AsyncDisposableStack,
): Promise<Service> {
  const cluster = accessCluster(options)
  const path = resolve(options.data)
  if (options.existing) await checkHasStarted(dataPaths(path, files), cluster !== undefined)
  const folder = await openDataFolder(path, files)
  opened.defer(() => folder.release())
  if (folder.completedRestore !== undefined)
    log.warn('interrupted_restore_completed', { restore: folder.completedRestore })
  const { basePath, publicUrl, metricsPublic, noConsole } = options
  const scheduler = new Scheduler()
  opened.defer(collectWhenIdle())
  const opening = Promise.withResolvers<Apps | undefined>()
  let apps = createStartingApps(options, opening.promise)
  const listener = new Listener({
    app: (request) => apps.all(request),
    ownerApp: (request) => apps.owner(request),
    scheduler,
    log,
    hasAccessLog: options.accessLog,
    trustedProxies: options.trustProxy && createTrust(options.trustProxy),
    tls,
  })
  // For a failed start; a started service drains before, see below.
  opened.defer(() => listener.drain(0))
  // First, so that `--listen` cannot take its path.
  await listenForOwner(listener, folder, log)
  const { origin, address, socket } = await listen(listener, options, environment, tls !== undefined)
  const url = origin + basePath
  const notice = setTimeout(() => {
    log.info('reading', { url, socket, data: folder.path })
    opening.resolve(undefined)
  }, LONG_START_MS)
  opened.defer(() => clearTimeout(notice))

  const audit = await openAuditTrail(folder, log, Math.floor(options.auditKeepBytes / auditFiles.length))
  opened.defer(() => audit.close())
  const newestTime = await findNewestTime(folder)
  let isStarted = false
  opened.defer(() => (isStarted ? audit.record('stopped', undefined, { pid: process.pid }) : undefined))
  const ttlSeconds = Math.max(options.sessionTtlSeconds, options.tokenTtlSeconds)
  const followed: { catchUp(): Promise<void> | undefined }[] = []
  const catchUpCredentials = () => {
    const looks = followed.flatMap((one) => one.catchUp() ?? [])
    return looks.length === 0 ? undefined : Promise.all(looks).then(() => {})
  }
  const parts = {
    ...{ folder, environment, audit, log, scheduler, ttlSeconds, makeClock, signal },
    ...{ catchUpCredentials, opened },
  }
  const state =
    cluster === undefined
      ? await openFolderState(parts)
      : await openClusterState(parts, cluster, options.maxStalenessSeconds * 1000)
  const { store, revocations, credentials, accounts, keys, madeUp, ignored, guard } = state
  const variables = ignored.join(' ')
  if (variables !== '')
    log.warn('first_start_variables_ignored', { variables, reason: 'the accounts exist already' })
  warnOfClock({ session: revocations.clock.now(), trail: newestTime }, log)
  warnOfMissingAccess(accounts, credentials.addingCommand, log)
  const liveAccounts = followAccounts(credentials, accounts, log)
  opened.defer(() => liveAccounts.close())
  const liveKeys = followKeys(credentials.keys, keys, revocations.clock, log)
  opened.defer(() => liveKeys.close())
  followed.push(liveAccounts, liveKeys)

  const authenticator = createAuthenticator({
    accounts: liveAccounts,
    keys: liveKeys,
    revocations,
    sessionTtlSeconds: options.sessionTtlSeconds,
    tokenTtlSeconds: options.tokenTtlSeconds,
    path: basePath === '' ? '/' : basePath,
    store: state.cookieId,
    audit,
    log,
  })
  opened.defer(() => authenticator.close())
  const administration = createAccountAdministration({
    accounts: liveAccounts,
    keys: liveKeys,
    revocations,
    audit,
  })
  const whyNotReadable = () => (listener.isDraining ? 'The server is stopping' : guard?.whyNotReadable())
  const whyNotReady = () => (listener.isDraining ? 'The server is stopping' : state.whyNotWritable())
  const eventLoop = watchEventLoop()
  opened.defer(() => eventLoop.close())
  const subscriptions = createSubscriptions(store, scheduler, log, guard)
  const metrics = [
    ...listener.metrics,
    ...subscriptions.metrics,
    ...storeMetrics(store, () => state.whyNotWritable() === undefined),
    ...backupMetrics(folder),
    ...loginMetrics(authenticator.logins),
    ...eventLoop.metrics,
    ...processMetrics(),
  ]
  const recent = new RecentFigures(metrics, () => performance.now())
  opened.defer(recent.begin())
  const freeBytes = () => folder.files.freeBytes(folder.path).catch(() => undefined)
  const histories = new RecordHistories(folder, audit, log)
  const shared = {
    ...{ authenticator, store, audit, histories, scheduler, whyNotReady, whyNotReadable },
    administration,
    ...{ basePath, publicUrl, subscriptions, metrics, recent, freeBytes },
    clock: revocations.clock,
  }
  isStarted = true
  if (folder.completedRestore !== undefined)
    await audit.record('restored', undefined, { completed: folder.completedRestore })
  if (madeUp !== undefined) await audit.record('first_started', undefined, namesOf(accounts))
  await audit.begin(store.tag, { version, pid: process.pid, url, socket, after: state.listedAfter })
  clearTimeout(notice)
  const sets = createRoutes(shared, { metricsPublic, noConsole }, guard)
  apps = {
    all: createApp(sets.all, basePath, authenticator, log, sets.redirect),
    owner: createApp(sets.owner, '', authenticator, log),
  }
  opening.resolve(apps)
  opened.defer(() => {
    // The requests that wait are answered at once, so that the drain does not wait for them.
    subscriptions.close()
    return listener.drain(options.shutdownTimeoutSeconds * 1000)
  })
  const { failed } = state
  let stopped: Promise<void> | undefined
  return {
    url,
    address,
    socket,
    folder,
    records: store.count,
    recordBytes: recordMemory(store),
    madeUp,
    useCertificate: (next) => listener.useCertificate(next),
    failed,
    stop: () => (stopped ??= closeAll(opened)),
  }
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

/** What answers everybody, and what answers on the owner's socket, where URLs have no base path. */
interface Apps {
  readonly all: App
  readonly owner: App
}

function createStartingApps({ basePath, noConsole }: ServerOptions, next: Promise<Apps | undefined>): Apps {
  const whyNotReady = () => STILL_READING
  const parts = { basePath, whyNotReady, whyNotReadable: whyNotReady }
  const { all, owner, redirect } = createStartingRoutes(parts, { noConsole })
  return {
    all: createStartingApp(
      all,
      basePath,
      next.then((apps) => apps?.all),
      redirect,
    ),
    owner: createStartingApp(
      owner,
      '',
      next.then((apps) => apps?.owner),
    ),
  }
}

function namesOf({ users, clients }: Accounts) {
  return { users: users.map(({ name }) => name), clients: clients.map(({ name }) => name) }
}
