import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { createMeta, encodeMeta } from '../../src/cluster/cluster-meta.ts'
import { readCluster } from '../../src/cluster/cluster-reading.ts'
import { type OpenedCluster, openCluster } from '../../src/cluster/cluster-start.ts'
import type { Gateway } from '../../src/cluster/gateway.ts'
import { put } from '../../src/cluster/messages.ts'
import type { NodeIdentity } from '../../src/cluster/node-position.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { createMemoryLog, type MemoryLog } from './memory-log.ts'
import type { Lifetime } from './temporary-folder.ts'

export const clusterKeys = new ClusterKeys('/connbook/')

/** The records of a node, without anything around them. */
export interface ClusterNode extends OpenedCluster, NodeIdentity {
  readonly log: MemoryLog
  /** Why it must not go on. */
  readonly failures: readonly Error[]
}

/** Writes the keys of an empty store. */
export async function beginCluster(gateway: Gateway): Promise<void> {
  const { meta, sequence, accounts, signingKeys } = clusterKeys
  await gateway.transact({
    compare: [],
    success: [
      put(meta, encodeMeta(createMeta())),
      put(sequence, '0'),
      put(accounts, '{}'),
      put(signingKeys, '{}'),
    ],
    failure: [],
  })
}

/** @param identity By default a node of its own. */
export async function openClusterNode(
  t: Lifetime,
  gateway: Gateway,
  identity: Partial<NodeIdentity> = {},
): Promise<ClusterNode> {
  const state = await readCluster(gateway, clusterKeys)
  assert.ok(state !== undefined)
  const log = createMemoryLog()
  const failures: Error[] = []
  const { node = randomId(), start = randomId() } = identity
  const cluster = openCluster({
    gateway,
    keys: clusterKeys,
    state,
    identity: { node, start },
    log,
    scheduler: new Scheduler(),
    trail: { listed: async () => () => undefined, list: () => {}, sync: async () => {} },
    owners: [],
    fail: (error) => failures.push(error),
  })
  t.after(async () => {
    await cluster.close()
    gateway.close()
  })
  return { ...cluster, node, start, log, failures }
}

function randomId(): string {
  return randomBytes(6).toString('hex')
}
