import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ChangeTrail } from '../storage/change-trail.ts'
import { ConfigurationStore } from '../store/configuration-store.ts'
import { Records } from '../store/records.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { ClusterState } from './cluster-reading.ts'
import { EtcdChangeLog } from './etcd-change-log.ts'
import { ClusterFollower, type FollowerOwner } from './follower.ts'
import type { Gateway } from './gateway.ts'
import type { NodeIdentity } from './node-position.ts'
import { SharedChanges } from './shared-changes.ts'

export interface ClusterParts {
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
  const changes = new SharedChanges(records, changeLog, scheduler)
  const store = new ConfigurationStore(records, changeLog, changes)
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
