import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ClusterRefusedError } from '../../src/cluster/cluster-error.ts'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import {
  REVOCATION_LEASE_SECONDS,
  REVOCATION_MARGIN_SECONDS,
  RevokedKeys,
} from '../../src/cluster/revoked-keys.ts'
import { CLUSTER_CHANGE_MS } from '../../src/cluster/settled-transaction.ts'
import { OutcomeUnknownError, StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { createMemoryEtcd, type MemoryEtcd } from '../support/memory-etcd.ts'

const keys = new ClusterKeys('/connbook/')
const NOON = Date.UTC(2026, 0, 1, 12) / 1000
const MINUTE = 60

function setUp() {
  const etcd = createMemoryEtcd()
  return { etcd, revoked: new RevokedKeys(etcd, keys), list: () => listed(etcd) }
}

async function listed(etcd: MemoryEtcd) {
  return (await etcd.range(keys.revoked)).kvs
}

/** Makes all time pass at once that a change may take. */
function passTime(t: TestContext) {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => now() + ahead)
  return () => {
    ahead = CLUSTER_CHANGE_MS
  }
}

describe('revocations in etcd', () => {
  it('are read as they were added', async () => {
    const { revoked, list } = setUp()
    const some = [
      { jti: 'a.1', exp: NOON + MINUTE },
      { jti: 'B_-.22', exp: NOON + 90 * MINUTE },
    ]
    for (const one of some) await revoked.add(one, NOON)
    assert.deepEqual((await list()).map((kv) => revoked.parse(kv)).reverse(), some)
    assert.deepEqual((await list()).map(({ key }) => key).reverse(), [
      '/connbook/auth/revoked/a.1',
      '/connbook/auth/revoked/B_-.22',
    ])
  })

  it('share a lease with those that expire in the same hour, which ends after it', async () => {
    const { etcd, revoked, list } = setUp()
    const exps = [NOON + 1, NOON + REVOCATION_LEASE_SECONDS, NOON + REVOCATION_LEASE_SECONDS + 1]
    await Promise.all(exps.map((exp, i) => revoked.add({ jti: `${i}`, exp }, NOON - 0.5)))
    const [first, second] = [1, 2].map(
      (hours) => hours * REVOCATION_LEASE_SECONDS + 1 + REVOCATION_MARGIN_SECONDS,
    )
    assert.deepEqual([...etcd.leases.values()], [first, second])
    assert.deepEqual(
      (await list()).map(({ lease }) => etcd.leases.get(lease ?? '')),
      [first, first, second],
    )
  })

  it('get a new lease when the old one is gone, as after a restore of etcd', async () => {
    const { etcd, revoked, list } = setUp()
    await revoked.add({ jti: 'a', exp: NOON }, NOON - 1)
    etcd.leases.clear()
    await revoked.add({ jti: 'b', exp: NOON }, NOON - 1)
    assert.deepEqual(
      (await list()).map(({ lease }) => lease),
      ['1', '2'],
    )
    etcd.grantLease = async () => 'gone'
    etcd.leases.clear()
    await assert.rejects(revoked.add({ jti: 'c', exp: NOON }, NOON - 1), StorageUnavailableError)
  })

  it('are added although answers are lost', async () => {
    const { etcd, revoked, list } = setUp()
    const mishaps = ['request lost', 'answer lost', 'unavailable'] as const
    const left = [...mishaps]
    etcd.before = () => left.shift()
    await revoked.add({ jti: 'a', exp: NOON }, NOON - 1)
    assert.equal((await list()).length, 1)
  })

  it('are refused with the right error when they cannot be added', async (t) => {
    const { etcd, revoked } = setUp()
    const add = () => revoked.add({ jti: 'a', exp: NOON }, NOON - 1)
    etcd.before = () => 'no_space'
    await assert.rejects(add(), StorageFullError)
    const timeIsOver = passTime(t)
    etcd.before = () => {
      timeIsOver()
      return 'request lost'
    }
    await assert.rejects(add(), OutcomeUnknownError)
  })

  it('ask for a lease again after one could not be granted', async (t) => {
    const { etcd, revoked } = setUp()
    const { grantLease } = etcd
    const timeIsOver = passTime(t)
    etcd.grantLease = async () => {
      timeIsOver()
      etcd.before = () => 'request lost'
      await etcd.transact({ compare: [], success: [], failure: [] })
      return ''
    }
    const add = () => revoked.add({ jti: 'a', exp: NOON }, NOON - 1)
    await assert.rejects(add(), StorageUnavailableError)
    Object.assign(etcd, { grantLease, before: () => undefined })
    await add()
  })

  it('are heard of by their events only', async () => {
    const { etcd, revoked } = setUp()
    const heard: unknown[] = []
    etcd.onEvents = (events) => {
      for (const event of events) heard.push(revoked.added(event))
    }
    await etcd.put('/connbook/auth/keys', '{"exp":1}')
    await revoked.add({ jti: 'a', exp: NOON }, NOON - 1)
    etcd.remove(keys.revokedToken('a'))
    assert.deepEqual(heard, [undefined, { jti: 'a', exp: NOON }, undefined])
  })

  it('are refused when they cannot be read', async () => {
    const { etcd, revoked, list } = setUp()
    for (const value of ['', '{}', '{"exp":"1"}', '{"exp":1,"by":"eve"}']) {
      await etcd.put(keys.revokedToken('a'), value)
      const [kv = assert.fail()] = await list()
      assert.throws(() => revoked.parse(kv), ClusterRefusedError, value)
    }
  })
})
