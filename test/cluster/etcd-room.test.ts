import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { ETCD_ROOM_CHECK_MS, EtcdRoom } from '../../src/cluster/etcd-room.ts'
import { put } from '../../src/cluster/messages.ts'
import { clusterKeys } from '../support/cluster-node.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createMemoryEtcd, type Mishap } from '../support/memory-etcd.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const change = { compare: [], success: [put('/connbook/r/00/a', 'x')], failure: [] }

describe('the room in etcd', () => {
  it('is gone with the first change that is refused, which is logged once', async (t) => {
    const { room, gateway, log, mishap } = setUp(t)
    await gateway.transact(change)
    assert.deepEqual([room.isFull, log.events], [false, []])
    mishap('no_space')
    for (let i = 0; i < 5; i++) await assert.rejects(gateway.transact(change), { reason: 'no_space' })
    assert.deepEqual([room.isFull, log.events], [true, ['cluster_changes_refused']])
    assert.match(log.lines[0] ?? '', /its database is full: .+ disarm its alarm/)
  })

  it('is there again once a trial is not refused, which changes nothing', async (t) => {
    const { room, gateway, etcd, log, mishap, second } = setUp(t)
    mishap('no_space')
    await assert.rejects(gateway.transact(change))
    for (const still of ['no_space', 'unreachable', 'denied'] as const) {
      mishap(still)
      await second()
      assert.equal(room.isFull, true, still)
    }
    mishap(undefined)
    const { revision } = etcd
    await second()
    assert.deepEqual([room.isFull, etcd.revision], [false, revision])
    assert.deepEqual(log.events, ['cluster_changes_refused', 'cluster_changes_accepted_again'])
    // Another time it is news again.
    mishap('no_space')
    await assert.rejects(gateway.transact(change))
    assert.equal(log.events.length, 3)
  })

  it('is not tried into an etcd that has become empty', async (t) => {
    const { room, gateway, etcd, mishap, second } = setUp(t)
    mishap('no_space')
    await assert.rejects(gateway.transact(change))
    mishap(undefined)
    await second()
    assert.equal(room.isFull, false)
    assert.equal(etcd.valueOf(clusterKeys.meta), undefined)
  })

  it('is asked for again only after the last answer, however long that takes', async (t) => {
    const { gateway, etcd, mishap, second } = setUp(t)
    mishap('no_space')
    await assert.rejects(gateway.transact(change))
    const answer = Promise.withResolvers<void>()
    const transact = t.mock.method(etcd, 'transact', () => answer.promise)
    for (let i = 0; i < 3; i++) await second()
    assert.equal(transact.mock.callCount(), 1)
    answer.reject(new Error('still full'))
    await turnOfEventLoop()
    assert.equal(transact.mock.callCount(), 1)
    await second()
    assert.equal(transact.mock.callCount(), 2)
  })

  it('is not asked for once it is closed, also after a trial that ends late', async (t) => {
    const { room, gateway, etcd, mishap, second } = setUp(t)
    mishap('no_space')
    await assert.rejects(gateway.transact(change))
    const answer = Promise.withResolvers<never>()
    const transact = t.mock.method(etcd, 'transact', () => answer.promise)
    await second()
    room.close()
    answer.reject(new Error('still full'))
    await second()
    assert.equal(transact.mock.callCount(), 1)
  })

  it('sets no timer for a refusal that arrives after it was closed', async (t) => {
    const { room, gateway, etcd, mishap, second } = setUp(t)
    mishap('no_space')
    room.close()
    await assert.rejects(gateway.transact(change), { reason: 'no_space' })
    const transact = t.mock.method(etcd, 'transact', async () => assert.fail())
    await second()
    assert.equal(transact.mock.callCount(), 0)
  })
})

function setUp(t: TestContext) {
  const tick = holdTimers(t, ['setTimeout', 'setInterval'])
  const etcd = createMemoryEtcd()
  const log = createMemoryLog()
  const room = new EtcdRoom(etcd, clusterKeys, log)
  t.after(() => room.close())
  return {
    ...{ room, etcd, log, gateway: room.gateway },
    mishap(now: Mishap | undefined) {
      etcd.before = () => now
    },
    async second() {
      tick(ETCD_ROOM_CHECK_MS)
      await turnOfEventLoop()
    },
  }
}
