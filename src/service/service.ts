import { resolve } from 'node:path'
import { openAuditTrail } from '../audit/audit-trail.ts'
import { RecordHistories } from '../audit/record-history.ts'
import { findNewestTime } from '../audit/trail-lines.ts'
import { AccountAdministration } from '../auth/account-administration.ts'
import type { Accounts } from '../auth/accounts.ts'
import { Authenticator } from '../auth/authenticator.ts'
import type { Clock } from '../auth/clock.ts'
import type { InitialCredentials } from '../auth/initial-credentials.ts'
import { KeyAdministration } from '../auth/key-administration.ts'
import { LiveAccounts, warnOfMissingAccess } from '../auth/live-accounts.ts'
import { LiveKeys } from '../auth/live-keys.ts'
import { loginMetrics } from '../auth/secret-checks.ts'
import { auditFiles, type DataFolder, dataPaths, leaveFolder, openDataFolder } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import { processMetrics, watchEventLoop } from '../metrics/process-metrics.ts'
import { RecentFigures } from '../metrics/recent-figures.ts'
import type { Parts } from '../resources/resource.ts'
import { createRoutes } from '../resources/routes.ts'
import type { StateGuard } from '../resources/state-guard.ts'
import { createSubscriptions } from '../resources/subscriptions.ts'
import { UnchangedCalls } from '../resources/unchanged-calls.ts'
import { Scheduler } from '../scheduler.ts'
import { type App, createApp } from '../server/app.ts'
import type { TlsTexts } from '../server/http-server.ts'
import { Listener } from '../server/listener.ts'
import { createTrust } from '../server/proxy-trust.ts'
import { backupMetrics } from '../state/backup.ts'
import { ServedBackups } from '../state/served-backups.ts'
import { checkHasStarted } from '../state/used-folder.ts'
import { recordMemory } from '../store/record-room.ts'
import { storeMetrics } from '../store/store-metrics.ts'
import { version } from '../version.ts'
import { accessCluster, openClusterState } from './cluster-state.ts'
import { type OpenedState, openFolderState, type StateParts } from './folder-state.ts'
import { collectWhenIdle } from './idle-collection.ts'
import { listen } from './listen.ts'
import { listenForOwner } from './owner-socket.ts'
import { type Apps, ServedApps } from './served-apps.ts'
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
  opened.defer(() => listener.drain(0))
  // First, so that `--listen` cannot take its path.
  await listenForOwner(listener, folder, log)
  const { origin, address, socket } = await listen(listener, options, environment, tls !== undefined)
  const place = { url: origin + options.basePath, address, socket }
  apps.limitWaiting(() => log.info('reading', { url: place.url, socket, data: folder.path }))
  opened.defer(() => apps.close())

  const audit = await openAuditTrail(folder, log, Math.floor(options.auditKeepBytes / auditFiles.length))
  opened.defer(() => audit.close())
  const newestTime = await findNewestTime(folder)
  let isStarted = false
  opened.defer(() => (isStarted ? audit.record('stopped', undefined, { pid: process.pid }) : undefined))
  const ttlSeconds = Math.max(options.sessionTtlSeconds, options.tokenTtlSeconds)
  let live: LiveCredentials | undefined
  const stateParts = {
    ...{ folder, environment, audit, log, scheduler, ttlSeconds, makeClock, signal, opened },
    catchUpCredentials: () => live?.catchUp(),
  }
  const state =
    cluster === undefined
      ? await openFolderState(stateParts)
      : await openClusterState(stateParts, cluster, options.maxStalenessSeconds * 1000)
  warnOfState(state, newestTime, log)
  live = followCredentials(state, log, opened)
  // They were read before the records, which may have taken long.
  await live.catchUp()
  const parts = openParts(options, stateParts, state, live, listener)

  isStarted = true
  await recordStart(stateParts, state, place)
  apps.replace(createApps(options, parts, state.guard, log, live))
  opened.defer(() => {
    // The requests that wait are answered at once, so that the drain does not wait for them.
    parts.subscriptions.close()
    return listener.drain(options.shutdownTimeoutSeconds * 1000)
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
  { options, files, log }: ServiceOptions,
  isCluster: boolean,
  opened: AsyncDisposableStack,
): Promise<DataFolder> {
  const path = resolve(options.data)
  if (options.existing) await checkHasStarted(dataPaths(path, files), isCluster)
  const folder = await openDataFolder(path, files)
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

/** Accounts and keys as they are now: commands, and other nodes, change them, too. */
interface LiveCredentials {
  readonly accounts: LiveAccounts
  readonly keys: LiveKeys
  /** As in `StateParts`. */
  catchUp(): Promise<void> | undefined
}

function followCredentials(
  { credentials, accounts: read, keys: readKeys, revocations }: OpenedState,
  log: Log,
  opened: AsyncDisposableStack,
): LiveCredentials {
  const accounts = new LiveAccounts(credentials, read, log)
  opened.defer(() => accounts.close())
  const keys = new LiveKeys(credentials.keys, readKeys, revocations.clock, log)
  opened.defer(() => keys.close())
  const followed = [accounts, keys]
  return {
    accounts,
    keys,
    catchUp() {
      const looks = followed.flatMap((one) => one.catchUp() ?? [])
      return looks.length === 0 ? undefined : Promise.all(looks).then(() => {})
    },
  }
}

/** Makes what the handlers of all routes get. */
function openParts(
  { basePath, publicUrl, sessionTtlSeconds, tokenTtlSeconds }: ServerOptions,
  { folder, audit, log, scheduler, opened }: StateParts,
  state: OpenedState,
  { accounts, keys }: LiveCredentials,
  listener: Listener,
): Omit<Parts, 'describeCalls'> {
  const { store, revocations, guard } = state
  const { commandOf } = state.credentials
  const authenticator = new Authenticator({
    ...{ accounts, keys, revocations, sessionTtlSeconds, tokenTtlSeconds, audit, log },
    path: basePath === '' ? '/' : basePath,
    store: state.cookieId,
  })
  opened.defer(() => authenticator.close())
  const backups = new ServedBackups({
    ...{ store, accounts, folder, audit, log },
    hasWholeHistory: guard === undefined,
  })
  opened.defer(() => backups.close())
  const unchanged = new UnchangedCalls(revocations.clock, audit)
  opened.defer(() => unchanged.close())
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
  const whyStopping = () => (listener.isDraining ? 'The server is stopping' : undefined)
  return {
    ...{
      authenticator,
      backups,
      store,
      unchanged,
      scheduler,
      basePath,
      publicUrl,
      subscriptions,
      metrics,
      recent,
    },
    administration: new AccountAdministration({ accounts, keys, revocations, audit, commandOf }),
    keyAdministration: new KeyAdministration(keys, audit),
    histories: new RecordHistories(folder, audit, log),
    clock: revocations.clock,
    freeBytes: () => folder.files.freeBytes(folder.path).catch(() => undefined),
    whyNotReady: () => whyStopping() ?? state.whyNotWritable(),
    whyNotReadable: () => whyStopping() ?? guard?.whyNotReadable(),
  }
}

/** Lists in the audit trail that the server has started, and how it came to its state. */
async function recordStart(
  { folder, audit }: StateParts,
  { accounts, madeUp, store, listedAfter }: OpenedState,
  { url, socket }: Pick<Service, 'url' | 'socket'>,
): Promise<void> {
  if (folder.completedRestore !== undefined)
    await audit.record('restored', undefined, { completed: folder.completedRestore })
  if (madeUp !== undefined) await audit.record('first_started', undefined, namesOf(accounts))
  await audit.begin(store.tag, { version, pid: process.pid, url, socket, after: listedAfter })
}

function createApps(
  { basePath, metricsPublic, noConsole }: ServerOptions,
  parts: Omit<Parts, 'describeCalls'>,
  guard: StateGuard | undefined,
  log: Log,
  credentials: LiveCredentials,
): Apps {
  const { all, owner, redirect } = createRoutes(parts, { metricsPublic, noConsole }, guard)
  return {
    all: createApp(all, basePath, parts.authenticator, log, redirect),
    owner: afterCommands(createApp(owner, '', parts.authenticator, log), credentials),
  }
}

/** Takes up what commands have changed of accounts and keys before it answers: a command asks, and then it is in force. */
function afterCommands(app: App, credentials: LiveCredentials): App {
  return (request) => {
    const catchingUp = credentials.catchUp()
    return catchingUp === undefined ? app(request) : catchingUp.then(() => app(request))
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

function namesOf({ users, clients }: Accounts) {
  return { users: users.map(({ name }) => name), clients: clients.map(({ name }) => name) }
}
