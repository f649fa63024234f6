import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ClusterRefusedError } from '../../src/cluster/cluster-error.ts'
import { createMeta, encodeMeta, parseMeta } from '../../src/cluster/cluster-meta.ts'
import { type ClusterState, readCluster } from '../../src/cluster/cluster-reading.ts'
import {
  CLUSTER_BEHIND_MS,
  CLUSTER_CHECK_MS,
  CLUSTER_CURRENT_MS,
  CLUSTER_REFUSED_PAUSE_MS,
  ClusterFollower,
} from '../../src/cluster/follower.ts'
import type { WatchEvent } from '../../src/cluster/messages.ts'
import { encodeNodeEntry } from '../../src/cluster/node-entry.ts'
import { beginCluster, clusterKeys } from '../support/cluster-node.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createMemoryEtcd, type MemoryEtcd } from '../support/memory-etcd.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** Follows an etcd that holds an empty store; time passes only by `pass`. */
async function follow(
  t: TestContext,
  { onTake, onReplace }: { onTake?: () => void; onReplace?: () => void } = {},
) {
  const etcd = createMemoryEtcd()
  await beginCluster(etcd)
  const state = await readCluster(etcd, clusterKeys)
  assert.ok(state !== undefined)
  let now = 0
  const tick = holdTimers(t, ['setTimeout', 'setInterval'])
  const log = createMemoryLog()
  const follower = new ClusterFollower({ gateway: etcd, keys: clusterKeys, log, state, elapsed: () => now })
  const taken: WatchEvent[] = []
  const readings: ClusterState[] = []
  follower.addOwner({
    take(_, events) {
      onTake?.()
      taken.push(...events)
    },
    replace(reading) {
      onReplace?.()
      readings.push(reading)
    },
  })
  follower.begin()
  t.after(() => follower.close())
  /** In steps, so that what a pause has held back begins before the next one is over. */
  const pass = async (ms: number) => {
    for (const end = now + ms; now < end; ) {
      now += STEP_MS
      tick(STEP_MS)
      await turns()
    }
  }
  await turns()
  return { etcd, log, follower, taken, readings, pass }
}

const STEP_MS = 50

/** As many of the event loop as what etcd answers at once needs. */
async function turns() {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function writeAs(etcd: MemoryEtcd, node: string, batch = 1) {
  return etcd.put(clusterKeys.node(node), encodeNodeEntry(batch, 's', [], false))
}

describe('the follower of a cluster', () => {
  it('notices by its check that its watch missed a revoked token', async (t) => {
    const { etcd, log, taken, pass } = await follow(t)
    etcd.hushWatches()
    await etcd.put(clusterKeys.revokedToken('jti'), '1')
    await pass(2 * CLUSTER_CHECK_MS + CLUSTER_BEHIND_MS)
    const keys = taken.map((event) => (event.kind === 'put' ? event.kv.key : event.key))
    assert.deepEqual(keys, [clusterKeys.revokedToken('jti')])
    assert.deepEqual(log.events, ['cluster_disconnected', 'cluster_reconnected'])
  })

  it('does not take what it has for the newest when etcd was restored, until it has read everything', async (t) => {
    const { etcd, follower, readings, pass } = await follow(t)
    const { revision } = etcd
    await writeAs(etcd, 'a')
    await turns()
    etcd.restore(revision)
    let isCaughtUp = false
    const caughtUp = follower.catchUp().then(() => (isCaughtUp = true))
    await turns()
    assert.equal(isCaughtUp, false)
    await pass(200)
    await caughtUp
    assert.deepEqual([readings.length, readings[0]?.nodes.size], [1, 0])
    assert.equal(parseMeta(etcd.valueOf(clusterKeys.meta) ?? '').epoch, 1)
  })

  it('is not current any more when the prefix holds another store, and says so once', async (t) => {
    const { etcd, log, follower, pass } = await follow(t)
    const { revision } = etcd
    await writeAs(etcd, 'a')
    await turns()
    assert.ok(follower.isCurrent)
    etcd.restore(revision)
    await etcd.put(clusterKeys.meta, encodeMeta(createMeta()))
    await pass(CLUSTER_CURRENT_MS + 3 * CLUSTER_CHECK_MS)
    assert.equal(follower.isCurrent, false)
    const reasons = log.lines.map((line) => (JSON.parse(line) as { reason?: string }).reason ?? '')
    assert.equal(reasons.filter((reason) => reason.includes('holds another store now')).length, 1)
    assert.ok(!log.events.includes('cluster_reconnected'))
  })

  for (const { what, error } of [
    { what: 'no record', error: new SyntaxError('made by the test') },
    { what: 'a damaged key', error: new ClusterRefusedError('made by the test') },
  ])
    it(`reads everything anew after ${what}, and leaves the tags of all nodes as they are`, async (t) => {
      const errors = [error]
      const { etcd, follower, readings, taken, pass } = await follow(t, {
        onTake() {
          for (const one of errors.splice(0)) throw one
        },
      })
      await writeAs(etcd, 'a')
      await pass(200)
      assert.equal(readings.length, 1)
      assert.equal(parseMeta(etcd.valueOf(clusterKeys.meta) ?? '').epoch, 0)
      await writeAs(etcd, 'a', 2)
      await pass(CLUSTER_CURRENT_MS)
      assert.deepEqual([taken.length, follower.isCurrent], [1, true])
    })

  it('is not current while what it has read is refused, and tries again', async (t) => {
    let isRefused = true
    const refuse = () => {
      if (isRefused) throw new ClusterRefusedError('made by the test')
    }
    const { etcd, follower, readings, pass } = await follow(t, { onTake: refuse, onReplace: refuse })
    await writeAs(etcd, 'a')
    await pass(CLUSTER_CURRENT_MS)
    assert.deepEqual([readings.length, follower.isBehind, follower.isCurrent], [0, true, false])
    isRefused = false
    await pass(CLUSTER_REFUSED_PAUSE_MS + CLUSTER_CHECK_MS)
    assert.deepEqual([readings.length, follower.isBehind, follower.isCurrent], [1, false, true])
  })

  it("ignores a key that is not connbook's also when it reads everything anew", async (t) => {
    const { etcd, log, readings, pass } = await follow(t)
    const { revision } = etcd
    await writeAs(etcd, 'a')
    await turns()
    etcd.restore(revision)
    await etcd.put(`${clusterKeys.prefix}theirs`, '1')
    await pass(300)
    assert.equal(readings.length, 1)
    assert.ok(log.events.includes('cluster_unknown_key'))
  })

  it('keeps what it has when the store is removed from the prefix, and is not current', async (t) => {
    const { etcd, follower, readings, taken, pass } = await follow(t)
    etcd.remove(clusterKeys.meta)
    await pass(CLUSTER_CURRENT_MS)
    assert.deepEqual([readings, taken, follower.isCurrent], [[], [], false])
  })
})
