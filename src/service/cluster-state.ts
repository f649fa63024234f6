import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { openClockFloor } from '../auth/clock.ts'
import { credentialsBeside } from '../auth/folder-credentials.ts'
import { writeInitialCredentials } from '../auth/initial-credentials.ts'
import { prepareKeys, secondsOf } from '../auth/key-rotation.ts'
import { createKey } from '../auth/keys.ts'
import { accessCluster, type ClusterAccess } from '../cluster/cluster-access.ts'
import { type ClusterDocuments, clusterDocuments } from '../cluster/cluster-documents.ts'
import { emptyNow } from '../cluster/cluster-error.ts'
import { createMeta, raiseEpoch, storeIdOf } from '../cluster/cluster-meta.ts'
import { type ClusterState, readCluster } from '../cluster/cluster-reading.ts'
import { type NewStore, openCluster, startCluster } from '../cluster/cluster-start.ts'
import { EtcdError } from '../cluster/etcd-error.ts'
import { EtcdRevocations } from '../cluster/etcd-revocations.ts'
import { EtcdRoom } from '../cluster/etcd-room.ts'
import { isPassing } from '../cluster/gateway.ts'
import type { WatchEvent } from '../cluster/messages.ts'
import { listMissed } from '../cluster/missed-changes.ts'
import { watchNodeKeys } from '../cluster/node-entry.ts'
import { RevokedKeys } from '../cluster/revoked-keys.ts'
import type { Log } from '../log.ts'
import { checkNoState, type FolderNode, keepStoreOf, nodeOf } from '../state/node-folder.ts'
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
  parts: StateParts,
  given: ClusterAccess,
  maxStalenessMs: number,
): Promise<OpenedState> {
  const { folder, environment, audit, log, scheduler, ttlSeconds, makeClock, signal, opened } = parts
  opened.defer(() => given.gateway.close())
  const room = new EtcdRoom(given.gateway, given.keys, log)
  opened.defer(() => room.close())
  const access = { ...given, gateway: room.gateway }
  const { gateway, keys } = access
  await checkNoState(folder)
  const own = await nodeOf(folder)
  const floor = await openClockFloor(folder, { log, ...(makeClock ? { makeClock } : {}) })
  const now = () => secondsOf(floor.clock.now())
  const { found, made } = await findOrMake(parts, access, own, now)
  const { store: storeId } = found.meta.value
  const { state, listedAfter } = await persistently(log, signal, () =>
    completeTrail(audit, log, access, found),
  )
  const documents = clusterDocuments(access)
  documents.accounts.load(state.accounts)
  documents.keys.load(state.signingKeys)
  const storedKeys = await persistently(log, signal, () => prepareKeys(documents.keys, ttlSeconds, now()))
  const revocations = new EtcdRevocations(new RevokedKeys(gateway, keys), floor)
  opened.defer(() => revocations.close())
  revocations.load(state.revoked)
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>()
  const identity = { node: own.id, start: randomBytes(6).toString('hex') }
  const { store, follower, close } = openCluster({
    ...{ gateway, keys, state, identity, log, scheduler, fail },
    trail: audit,
    owners: [new CredentialFollower(documents, revocations, state.meta.value.epoch)],
  })
  opened.defer(close)
  opened.defer(watchNodeKeys(gateway, keys, log, () => floor.clock.now()))
  const lastCheck = () => `The last good check of etcd was ${secondsOf(follower.checkAgeMs)} s ago`
  return {
    store,
    cookieId: storeId,
    revocations,
    credentials: credentialsBeside(folder, documents),
    accounts: documents.accounts.decode(state.accounts),
    keys: storedKeys,
    madeUp: made?.madeUp,
    ignored: made === undefined ? givenVariables(environment) : made.ignored,
    listedAfter,
    whyNotWritable() {
      if (room.isFull) return 'etcd is full, and changes are refused; the log says more'
      return store.isWritable ? undefined : `${lastCheck()}; the log says more`
    },
    guard: {
      whyNotReadable: () => (follower.checkAgeMs <= maxStalenessMs ? undefined : lastCheck()),
      catchUp: () => store.catchUp(),
    },
    failed,
  }
}

/**
 * Reads the store below the prefix, and makes it first if there is nothing. The folder keeps which store it is.
 *
 * @returns `made` is what this node has made; undefined if the store was there, or another node was faster.
 */
async function findOrMake(
  { folder, environment, log, ttlSeconds, signal }: StateParts,
  access: ClusterAccess,
  own: FolderNode,
  now: () => number,
): Promise<{ found: ClusterState; made: FirstAccounts | undefined }> {
  const { gateway, keys } = access
  let first: Promise<NewStore & { readonly made: FirstAccounts }> | undefined
  const found = await persistently(log, signal, () =>
    startCluster(access, () => {
      first ??= makeFirst()
      return first
    }),
  )
  const tried = await first
  const { store } = found.meta.value
  // An attempt whose answer was lost may have been the one that was done.
  const made = tried?.meta.store === store ? tried.made : undefined
  // Another node was faster.
  if (tried !== undefined && made === undefined) await writeInitialCredentials(folder, {})
  if (own.store !== undefined && own.store !== store)
    log.warn('cluster_store_changed', { endpoint: gateway.endpoint, prefix: keys.prefix })
  if (own.store !== store) await keepStoreOf(folder, own, store)
  return { found, made }

  async function makeFirst() {
    if (own.store !== undefined) throw emptyNow(keys, gateway, folder.path)
    const made = await makeFirstAccounts(await readFirstStartValues(environment, signal))
    // Before they are made: after a crash they would be lost.
    await writeInitialCredentials(folder, made.madeUp)
    return { meta: createMeta(), accounts: made.accounts, keys: [createKey(now(), ttlSeconds)], made }
  }
}

/** Lists what has changed since this node ran last; if etcd was restored since then, all tags are new. */
async function completeTrail(
  audit: AuditTrail,
  log: Log,
  { gateway, keys }: ClusterAccess,
  read: ClusterState,
): Promise<{ state: ClusterState; listedAfter?: number }> {
  const listed = (await audit.listed())(storeIdOf(read.meta.value))
  if (listed === undefined) return { state: read }
  const { revision } = read.index
  if (listed.highest > revision) {
    await raiseEpoch(gateway, keys, read.meta, 0)
    const next = await readCluster(gateway, keys)
    if (next === undefined) throw new Error('the prefix has become empty')
    return { state: next }
  }
  // After changes that could not be listed, a start names the revision from which on all are.
  const after = Math.min(listed.claimed, revision)
  const missed = { store: storeIdOf(read.meta.value), after, upTo: revision }
  if (after === revision || (await listMissed(gateway, keys, audit, missed)))
    return { state: read, listedAfter: after }
  log.warn('cluster_changes_not_audited', { after, up_to: revision })
  return { state: read }
}

/** Takes over what other nodes change of accounts, keys and revocations. */
class CredentialFollower {
  readonly #documents: ClusterDocuments
  readonly #revocations: EtcdRevocations
  #epoch: number

  constructor(documents: ClusterDocuments, revocations: EtcdRevocations, epoch: number) {
    this.#documents = documents
    this.#revocations = revocations
    this.#epoch = epoch
  }

  take(_revision: number, events: readonly WatchEvent[]): void {
    const { accounts, keys } = this.#documents
    for (const event of events) {
      accounts.take(event)
      keys.take(event)
    }
    this.#revocations.take(events)
  }

  replace(next: ClusterState): void {
    const hasSamePast = next.meta.value.epoch === this.#epoch
    this.#epoch = next.meta.value.epoch
    const { accounts, keys } = this.#documents
    // The reading may have begun before the last change of this node.
    for (const [document, kv] of [
      [accounts, next.accounts],
      [keys, next.signingKeys],
    ] as const)
      if (hasSamePast) document.takeNewer(kv)
      else document.load(kv)
    this.#revocations.load(next.revoked)
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
