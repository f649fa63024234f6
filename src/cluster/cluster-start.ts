import type { Accounts } from '../auth/accounts.ts'
import type { StoredKey } from '../auth/keys.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ChangeTrail } from '../storage/change-trail.ts'
import { ConfigurationStore } from '../store/configuration-store.ts'
import { Records } from '../store/records.ts'
import { Writer } from '../store/writer.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { type ClusterMeta, encodeMeta } from './cluster-meta.ts'
import { type ClusterState, readCluster } from './cluster-reading.ts'
import { EtcdChangeLog } from './etcd-change-log.ts'
import { ClusterFollower, type FollowerOwner } from './follower.ts'
import type { Gateway } from './gateway.ts'
import { noneIn, put } from './messages.ts'
import type { NodeIdentity } from './node-position.ts'
import { transactUntilSettled } from './settled-transaction.ts'

/** What a first start makes. */
export interface NewStore {
  readonly meta: ClusterMeta
  readonly accounts: Accounts
  readonly keys: readonly StoredKey[]
}

/**
 * Reads everything below the prefix. If nothing is there, this is a first start: of several at once, one makes the store,
 * and the others read it.
 *
 * @param make Called for a first start, perhaps in vain: the store that is read may be that of another one. If this call is
 *   repeated, it must give the same each time.
 * @throws {EtcdError} {ClusterRefusedError} {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError} It may be
 *   repeated.
 */
export async function startCluster(
  access: ClusterAccess,
  make: () => Promise<NewStore>,
): Promise<ClusterState> {
  const { gateway, keys } = access
  const found = await readCluster(gateway, keys)
  if (found !== undefined) return found
  const { meta, accounts, keys: signingKeys } = await make()
  const documents = clusterDocuments(access)
  const transaction = {
    compare: [noneIn(keys.all.key, keys.all.end)],
    success: [
      put(keys.meta, encodeMeta(meta)),
      put(keys.sequence, '0'),
      put(keys.accounts, documents.accounts.encode(accounts)),
      put(keys.signingKeys, documents.keys.encode(signingKeys)),
    ],
    failure: [],
  }
  await transactUntilSettled(gateway, transaction, 'the prefix')
  const state = await readCluster(gateway, keys)
  if (state === undefined) throw new Error('the prefix is empty after a first start')
  return state
}

interface ClusterParts {
  readonly gateway: Gateway
  readonly keys: ClusterKeys
  /** What was read at the start. */
  readonly state: ClusterState
  readonly identity: NodeIdentity
  readonly log: Log
  readonly scheduler: Scheduler
  /** Gets the changes of all nodes. */
  readonly trail: ChangeTrail
  /** Get what has changed beside the records. */
  readonly owners: readonly FollowerOwner[]
  /** Called when this process must not go on. */
  readonly fail: (error: Error) => void
}

export interface OpenedCluster {
  readonly store: ConfigurationStore
  readonly follower: ClusterFollower
  /** Waits for pending changes, and hears of no more. */
  close(): Promise<void>
}

/** The records of a cluster, for reading and writing; it follows the changes of all nodes from the reading on. */
export function openCluster(parts: ClusterParts): OpenedCluster {
  const { gateway, keys, state, identity, log, scheduler, trail, owners, fail } = parts
  const follower = new ClusterFollower({ gateway, keys, log, state })
  const records = new Records(state.index, scheduler)
  const changeLog = new EtcdChangeLog({ gateway, keys, state, ...identity, follower, fail, records })
  const store = new ConfigurationStore(records, changeLog, new Writer(records, changeLog, scheduler))
  store.onDurable((change, revision, before) =>
    trail.list(store.id, change, revision, before, store.recent.changedBefore),
  )
  // The records last: what the others refuse is then not shown.
  for (const owner of [...owners, changeLog]) follower.addOwner(owner)
  follower.begin()
  return {
    store,
    follower,
    async close() {
      await store.close()
      await follower.close()
    },
  }
}
