import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { openClockFloor } from '../auth/clock.ts'
import { writeInitialCredentials } from '../auth/initial-credentials.ts'
import { prepareKeys, secondsOf } from '../auth/key-rotation.ts'
import { createKey } from '../auth/keys.ts'
import { accessCluster, type ClusterAccess } from '../cluster/cluster-access.ts'
import { clusterCredentials, clusterDocuments } from '../cluster/cluster-documents.ts'
import { emptyNow } from '../cluster/cluster-error.ts'
import { createMeta, raiseEpoch, storeIdOf } from '../cluster/cluster-meta.ts'
import { type ClusterState, readCluster } from '../cluster/cluster-reading.ts'
import { type NewStore, startCluster } from '../cluster/cluster-start.ts'
import { EtcdError } from '../cluster/etcd-error.ts'
import { EtcdRevocations } from '../cluster/etcd-revocations.ts'
import { openCluster } from '../cluster/etcd-storage.ts'
import { isPassing } from '../cluster/gateway.ts'
import type { WatchEvent } from '../cluster/messages.ts'
import { listMissed } from '../cluster/missed-changes.ts'
import { watchNodeKeys } from '../cluster/node-entry.ts'
import { RevokedKeys } from '../cluster/revoked-keys.ts'
import { checkNoState, keepStoreOf, nodeOf } from '../folder/node-folder.ts'
import type { Log } from '../log.ts'
import { type FirstAccounts, givenVariables, makeFirstAccounts, readFirstStartValues } from './first-start.ts'
import type { OpenedState, StateParts } from './folder-state.ts'

/** Before a start asks an etcd again that does not answer. */
const CLUSTER_START_PAUSE_MS = 500

export { accessCluster }

/**
 * Reads the state that an etcd cluster keeps, and follows it; the first start of all makes it. Waits for an etcd that does
 * not answer.
 *
 * @param maxStalenessMs How long reads are answered while etcd does not answer.
 * @throws {UsageError} {FolderRefusedError} {ClusterRefusedError} {EtcdError} if waiting would not help.
 */
export async function openClusterState(
  { folder, environment, audit, log, scheduler, ttlSeconds, makeClock, signal, opened }: StateParts,
  access: ClusterAccess,
  maxStalenessMs: number,
): Promise<OpenedState> {
  const { gateway, keys } = access
  opened.defer(() => gateway.close())
  await checkNoState(folder)
  const own = await nodeOf(folder)
  const identity = { node: own.id, start: randomBytes(6).toString('hex') }
  const floor = await openClockFloor(folder, { log, ...(makeClock ? { makeClock } : {}) })
  const now = () => secondsOf(floor.clock.now())

  let first: Promise<NewStore & { readonly made: FirstAccounts }> | undefined
  const found = await persistently(log, signal, () =>
    startCluster(access, () => {
      first ??= makeFirst()
      return first
    }),
  )
  const tried = await first
  // An attempt whose answer was lost may have been the one that was done.
  const made = tried?.meta.store === found.meta.value.store ? tried.made : undefined
  // Another node was faster.
  if (tried !== undefined && made === undefined) await writeInitialCredentials(folder, {})
  const { store: storeId } = found.meta.value
  if (own.store !== undefined && own.store !== storeId)
    log.warn('cluster_store_changed', { endpoint: gateway.endpoint, prefix: keys.prefix })
  if (own.store !== storeId) await keepStoreOf(folder, own, storeId)
  const { state, listedAfter } = await persistently(log, signal, () => completeTrail(found))
  const documents = clusterDocuments(access)
  documents.accounts.load(state.accounts)
  documents.keys.load(state.signingKeys)
  let { epoch } = state.meta.value
  const storedKeys = await persistently(log, signal, () => prepareKeys(documents.keys, ttlSeconds, now()))
  const revocations = new EtcdRevocations(new RevokedKeys(gateway, keys), floor)
  opened.defer(() => revocations.close())
  revocations.load(state.revoked)
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>()
  const { store, follower, close } = openCluster({
    gateway,
    keys,
    state,
    identity,
    log,
    scheduler,
    trail: audit,
    owners: [{ take, replace }],
    fail,
  })
  opened.defer(close)
  opened.defer(watchNodeKeys(gateway, keys, log, () => floor.clock.now()))
  return {
    store,
    cookieId: storeId,
    revocations,
    credentials: clusterCredentials(access, documents, folder),
    accounts: documents.accounts.decode(state.accounts),
    keys: storedKeys,
    madeUp: made?.madeUp,
    ignored: made === undefined ? givenVariables(environment) : made.ignored,
    listedAfter,
    whyNotWritable: () =>
      store.isWritable
        ? undefined
        : `The last good check of etcd was ${secondsOf(follower.checkAgeMs)} s ago; the log says more`,
    guard: {
      whyNotReadable: () =>
        follower.checkAgeMs <= maxStalenessMs
          ? undefined
          : `The last good check of etcd was ${secondsOf(follower.checkAgeMs)} s ago`,
      catchUp: () => store.catchUp(),
    },
    failed,
  }

  function take(_: number, events: readonly WatchEvent[]) {
    for (const event of events) {
      documents.accounts.take(event)
      documents.keys.take(event)
    }
    revocations.take(events)
  }

  function replace(next: ClusterState) {
    const hasSamePast = next.meta.value.epoch === epoch
    epoch = next.meta.value.epoch
    // The reading may have begun before the last change of this node.
    for (const [document, kv] of [
      [documents.accounts, next.accounts],
      [documents.keys, next.signingKeys],
    ] as const)
      if (hasSamePast) document.takeNewer(kv)
      else document.load(kv)
    revocations.load(next.revoked)
  }

  async function makeFirst() {
    if (own.store !== undefined) throw emptyNow(keys, gateway, folder.path)
    const made = await makeFirstAccounts(await readFirstStartValues(environment, signal))
    // Before they are made: after a crash they would be lost.
    await writeInitialCredentials(folder, made.madeUp)
    return { meta: createMeta(), accounts: made.accounts, keys: [createKey(now(), ttlSeconds)], made }
  }

  /** Lists what has changed since this node ran last; if etcd was restored since then, all tags are new. */
  async function completeTrail(read: ClusterState): Promise<{ state: ClusterState; listedAfter?: number }> {
    const listed = (await audit.listed())(storeIdOf(read.meta.value))
    if (listed === undefined) return { state: read }
    const { revision } = read.index
    if (listed.highest > revision) {
      await raiseEpoch(gateway, keys, read.meta, 0)
      const next = await readCluster(gateway, keys)
      if (next === undefined) throw new Error('the prefix has become empty')
      return { state: next }
    }
    const missed = { store: storeIdOf(read.meta.value), after: listed.highest, upTo: revision }
    if (listed.highest === revision || (await listMissed(gateway, keys, audit, missed)))
      return { state: read, listedAfter: listed.highest }
    log.warn('cluster_changes_not_audited', { after: listed.highest, up_to: revision })
    return { state: read }
  }
}

/** Repeats what etcd does not answer; logs each reason once in a row. */
async function persistently<Result>(
  log: Log,
  signal: AbortSignal | undefined,
  action: () => Promise<Result>,
): Promise<Result> {
  for (let toldReason = ''; ; ) {
    try {
      return await action()
    } catch (error) {
      const failure = error instanceof Error && error.cause instanceof EtcdError ? error.cause : error
      if (!(failure instanceof EtcdError) || !isPassing(failure)) throw error
      if (failure.message !== toldReason)
        log.warn('cluster_disconnected', { endpoint: failure.endpoint, reason: failure.message })
      toldReason = failure.message
      await setTimeout(CLUSTER_START_PAUSE_MS)
      signal?.throwIfAborted()
    }
  }
}
