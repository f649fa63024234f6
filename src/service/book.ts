import { type AuditTrail, openAuditTrail } from '../audit/audit-trail.ts'
import { RecordHistories } from '../audit/record-history.ts'
import { findNewestTime } from '../audit/trail-lines.ts'
import { AccountAdministration } from '../auth/account-administration.ts'
import { Authenticator } from '../auth/authenticator.ts'
import { KeyAdministration } from '../auth/key-administration.ts'
import { LiveAccounts } from '../auth/live-accounts.ts'
import { LiveKeys } from '../auth/live-keys.ts'
import { loginMetrics } from '../auth/secret-checks.ts'
import type { Log } from '../log.ts'
import type { Family } from '../metrics/family.ts'
import { processMetrics, watchEventLoop } from '../metrics/process-metrics.ts'
import { RecentFigures } from '../metrics/recent-figures.ts'
import type { Parts } from '../resources/resource.ts'
import { createRoutes } from '../resources/routes.ts'
import type { StateGuard } from '../resources/state-guard.ts'
import { createSubscriptions } from '../resources/subscriptions.ts'
import { UnchangedCalls } from '../resources/unchanged-calls.ts'
import { createApp } from '../server/app.ts'
import { readBackupTime } from '../state/backup.ts'
import { ServedBackups } from '../state/served-backups.ts'
import { storeMetrics } from '../store/store-metrics.ts'
import type { OpenedState, StateParts } from './folder-state.ts'
import type { Apps } from './served-apps.ts'
import type { ServerOptions } from './server-options.ts'

/** A state that was read, and the applications that answer for it. */
export interface Book {
  readonly state: OpenedState
  readonly audit: AuditTrail
  readonly apps: Apps
  /** Latest time in the audit trail as it was before. */
  readonly newestTime: number | undefined
  /** Ends the answers that wait for changes. */
  endWaiting(): void
}

/** What a book is opened with; `StateParts` has the rest. */
export interface BookParts extends Omit<StateParts, 'audit'> {
  readonly options: Pick<
    ServerOptions,
    'basePath' | 'publicUrl' | 'sessionTtlSeconds' | 'tokenTtlSeconds' | 'metricsPublic' | 'noConsole'
  >
  /** Bytes of one file of the audit trail, before the next one begins. */
  readonly auditFileBytes: number
  /** Reads the state, wherever it is kept. */
  readonly openState: (parts: StateParts) => Promise<OpenedState>
  /** Whether this process goes on to serve it, and the trail lists its stop. */
  readonly hasStarted: () => boolean
  /** Whether requests under way are the last ones. */
  readonly isStopping: () => boolean
  /** Of the listener. */
  readonly metrics: readonly Family[]
}

/**
 * Opens the book of a folder that this process owns: reads its state, and makes the applications that answer for it.
 *
 * @throws what `openState` throws; what is open by then is in `opened`.
 */
export async function openBook(parts: BookParts): Promise<Book> {
  const { folder, log, opened } = parts
  const audit = await openAuditTrail(folder, log, parts.auditFileBytes, parts.isReadOnly)
  opened.defer(() => audit.close())
  const newestTime = await findNewestTime(folder)
  opened.defer(() =>
    parts.hasStarted() ? audit.record('stopped', undefined, { pid: process.pid }) : undefined,
  )
  const stateParts = { ...parts, audit }
  const state = await parts.openState(stateParts)
  const live = followCredentials(state, log, opened)
  const made = openParts(parts, stateParts, state, live, await readBackupTime(folder))
  const apps = createApps(parts, made, state.guard)
  return { state, audit, apps, newestTime, endWaiting: () => made.subscriptions.close() }
}

/** Accounts and keys as they are now. */
interface LiveCredentials {
  readonly accounts: LiveAccounts
  readonly keys: LiveKeys
}

function followCredentials(
  { credentials, accounts: read, keys: readKeys, revocations }: OpenedState,
  log: Log,
  opened: AsyncDisposableStack,
): LiveCredentials {
  const accounts = new LiveAccounts(credentials, read, log)
  const keys = new LiveKeys(credentials.keys, readKeys, revocations.clock, log)
  opened.defer(() => keys.close())
  return { accounts, keys }
}

/** Makes what the handlers of all routes get. */
function openParts(
  { options, isStopping, metrics: listenerMetrics }: BookParts,
  { folder, audit, log, scheduler, opened }: StateParts,
  state: OpenedState,
  { accounts, keys }: LiveCredentials,
  lastBackup: number | undefined,
): Omit<Parts, 'describeCalls'> {
  const { basePath, publicUrl, sessionTtlSeconds, tokenTtlSeconds } = options
  const { store, revocations, guard, credentials } = state
  const { commandOf } = credentials
  const authenticator = new Authenticator({
    ...{ accounts, keys, revocations, sessionTtlSeconds, tokenTtlSeconds, audit, log },
    path: basePath === '' ? '/' : basePath,
    store: state.cookieId,
  })
  opened.defer(() => authenticator.close())
  const backups = new ServedBackups(
    {
      ...{ store, accounts, folder, audit, log },
      hasWholeHistory: guard === undefined,
    },
    lastBackup,
  )
  const unchanged = new UnchangedCalls(revocations.clock, audit)
  opened.defer(() => unchanged.close())
  const eventLoop = watchEventLoop()
  opened.defer(() => eventLoop.close())
  const subscriptions = createSubscriptions(store, scheduler, log, guard)
  const metrics = [
    ...listenerMetrics,
    ...subscriptions.metrics,
    ...storeMetrics(store, () => state.whyNotWritable() === undefined),
    ...backups.metrics,
    ...loginMetrics(authenticator.logins),
    ...eventLoop.metrics,
    ...processMetrics(),
  ]
  const recent = new RecentFigures(metrics, () => performance.now())
  opened.defer(recent.begin())
  const whyStopping = () => (isStopping() ? 'The server is stopping' : undefined)
  return {
    ...{
      authenticator,
      store,
      unchanged,
      scheduler,
      basePath,
      publicUrl,
      subscriptions,
      metrics,
      recent,
      backups,
    },
    administration: new AccountAdministration({ accounts, revocations, audit, commandOf }),
    keyAdministration: new KeyAdministration(keys, audit),
    histories: new RecordHistories(folder, audit, log),
    clock: revocations.clock,
    freeBytes: () => folder.files.freeBytes(folder.path).catch(() => undefined),
    whyNotReady: () => whyStopping() ?? state.whyNotWritable(),
    whyNotReadable: () => whyStopping() ?? guard?.whyNotReadable(),
  }
}

function createApps(
  { options: { basePath, metricsPublic, noConsole }, log }: BookParts,
  parts: Omit<Parts, 'describeCalls'>,
  guard: StateGuard | undefined,
): Apps {
  const { all, owner, redirect } = createRoutes(parts, { metricsPublic, noConsole }, guard)
  return {
    all: createApp(all, basePath, parts.authenticator, log, redirect),
    owner: createApp(owner, '', parts.authenticator, log),
  }
}
