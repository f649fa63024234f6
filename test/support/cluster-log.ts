import assert from 'node:assert/strict'
import { type ClusterState, readCluster } from '../../src/cluster/cluster-reading.ts'
import { EtcdChangeLog } from '../../src/cluster/etcd-change-log.ts'
import { type EtcdOperation, put, type WatchEvent } from '../../src/cluster/messages.ts'
import { encodeNodeEntry } from '../../src/cluster/node-entry.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import type { Committed } from '../../src/store/change-log.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { Records } from '../../src/store/records.ts'
import { Writer } from '../../src/store/writer.ts'
import { beginCluster, clusterKeys } from './cluster-node.ts'
import { createMemoryEtcd, type MemoryEtcd } from './memory-etcd.ts'
import { draft } from './store.ts'

/** An etcd with an empty store. */
export async function beginMemoryCluster(): Promise<MemoryEtcd> {
  const etcd = createMemoryEtcd()
  await beginCluster(etcd)
  return etcd
}

/** What the next transactions meet, in turn. */
export function meet(etcd: MemoryEtcd, ...mishaps: (() => ReturnType<MemoryEtcd['before']>)[]): void {
  etcd.before = () => mishaps.shift()?.()
}

/** What the next transaction meets; those that are sent meanwhile meet nothing. */
export function meetOnce(etcd: MemoryEtcd, mishap: () => unknown): void {
  etcd.before = async () => {
    etcd.before = () => undefined
    await mishap()
    return undefined
  }
}

/** Holds the next transaction until it arrives. */
export function holdNext(etcd: MemoryEtcd) {
  const sent = Promise.withResolvers<void>()
  const arrival = Promise.withResolvers<Awaited<ReturnType<MemoryEtcd['before']>>>()
  meet(etcd, () => {
    sent.resolve()
    return arrival.promise
  })
  return { sent: sent.promise, arrive: arrival.resolve }
}

/** A batch of a process puts a record. */
export function changeBy(
  etcd: MemoryEtcd,
  node: string,
  start: string,
  batch: number,
  id: number,
  fields: Parameters<typeof draft>,
): Promise<unknown> {
  const record = new Configuration(id, draft(...fields))
  return batchBy(etcd, { node, start, batch }, id, put(clusterKeys.record(record.name), record.json))
}

/** What another node does, batch after batch. */
export function otherNode(etcd: MemoryEtcd, node = 'other') {
  let batch = 0
  const made = (id: number, ...operations: EtcdOperation[]) =>
    batchBy(etcd, { node, start: 'o', batch: ++batch }, id, ...operations)
  return {
    put: (id: number, ...fields: Parameters<typeof draft>) => {
      const record = new Configuration(id, draft(...fields))
      return made(id, put(clusterKeys.record(record.name), record.json))
    },
    /** Changes no record. */
    nothing: () => made(0),
    made,
  }
}

function batchBy(
  etcd: MemoryEtcd,
  { node, start, batch }: { readonly node: string; readonly start: string; readonly batch: number },
  id: number,
  ...operations: EtcdOperation[]
) {
  const lastId = Math.max(id, Number(etcd.valueOf(clusterKeys.sequence)))
  return etcd.transact({
    compare: [],
    success: [
      put(clusterKeys.node(node), encodeNodeEntry(batch, start, [], false)),
      ...operations,
      put(clusterKeys.sequence, String(lastId)),
    ],
    failure: [],
  })
}

/** A node whose clock the test holds. It hears of changes at once, but not while it is deaf. */
export async function openClusterLog(etcd: MemoryEtcd, recordBytesMax = Number.POSITIVE_INFINITY) {
  const state = await readCluster(etcd, clusterKeys)
  assert.ok(state !== undefined)
  const unheard: (readonly [revision: number, events: readonly WatchEvent[]])[] = []
  const held = { now: 0, isBehind: false, isDeaf: false, catchUps: 0, hear }
  const scheduler = new Scheduler()
  const records = new Records(state.index, scheduler)
  const elapsed = () => held.now
  const log = new EtcdChangeLog({
    gateway: etcd,
    keys: clusterKeys,
    state,
    node: 'n',
    start: 's',
    follower: {
      async catchUp() {
        held.catchUps += 1
        hear()
      },
      get isBehind() {
        return held.isBehind
      },
      isCurrent: true,
      metrics: [],
    },
    fail: assert.ifError,
    records,
    elapsed,
  })
  etcd.onEvents = (events) => {
    unheard.push([etcd.revision, events])
    if (!held.isDeaf) hear()
  }
  const store = new ConfigurationStore(
    records,
    log,
    new Writer(records, log, scheduler, recordBytesMax, elapsed),
  )
  return { log, held, state, store, commit }

  function hear() {
    for (const [revision, events] of unheard.splice(0)) log.take(revision, events)
  }

  function commit(changes: readonly Change[], check = () => {}, isBulk = false): Promise<Committed> {
    return log.commit({ changes, isBulk, sinceMs: held.now, check })
  }
}

/** The same reading after a restore of etcd. */
export function restored({ meta, ...others }: ClusterState): ClusterState {
  return { ...others, meta: { ...meta, value: { ...meta.value, epoch: meta.value.epoch + 1 } } }
}
