import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RememberedClock } from '../../src/auth/clock.ts'
import { ACCOUNT_REVOCATIONS_MAX } from '../../src/auth/ended-credentials.ts'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { EtcdRevocations } from '../../src/cluster/etcd-revocations.ts'
import { RevokedKeys } from '../../src/cluster/revoked-keys.ts'
import { OutcomeUnknownError, StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryEtcd } from '../support/memory-etcd.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const keys = new ClusterKeys('/connbook/')

/** A cluster of two nodes, which hear at once of what etcd keeps. */
function setUp() {
  const etcd = createMemoryEtcd()
  const held = holdClock()
  const stored: number[] = []
  const node = () => {
    const store = async (passed: number) => void stored.push(passed)
    const floor = new RememberedClock(held.make(), 0, store, createMemoryLog())
    return new EtcdRevocations(new RevokedKeys(etcd, keys), floor)
  }
  const [here, there] = [node(), node()] as const
  etcd.onEvents = (events) => {
    for (const each of [here, there]) each.take(events)
  }
  const exp = held.wall / 1000 + 100
  const range = async () => (await etcd.range(keys.revoked)).kvs
  return { etcd, held, here, there, node, exp, range, stored }
}

describe('the revocations of a cluster', () => {
  it('hold on each node, and on one that starts later', async () => {
    const { here, there, node, exp, range } = setUp()
    await here.add('a.1', exp)
    const late = node()
    late.load(await range())
    assert.deepEqual(
      [here, there, late].map((each) => [each.has('a.1'), each.has('b.1')]),
      [
        [true, false],
        [true, false],
        [true, false],
      ],
    )
  })

  it('hold here when they are acknowledged, also while the watch is late', async () => {
    const { etcd, here, exp } = setUp()
    etcd.onEvents = () => {}
    await here.add('a.1', exp)
    assert.equal(here.has('a.1'), true)
  })

  const refusals = {
    no_space: StorageFullError,
    denied: StorageUnavailableError,
  } as const
  for (const [reason, error] of Object.entries(refusals)) {
    it(`do not hold when etcd refuses them (${reason}), and the error names no host`, async () => {
      const { etcd, here, exp } = setUp()
      etcd.before = () => reason as keyof typeof refusals
      await assert.rejects(here.add('a.1', exp), (refusal) => {
        assert.ok(refusal instanceof error)
        assert.match(refusal.message, /^Cannot end the credential: [a-z ]+$/)
        return true
      })
      assert.equal(here.has('a.1'), false)
    })
  }

  it('may hold when nobody can know whether they were added', async () => {
    const { etcd, here, there, exp } = setUp()
    let count = 0
    etcd.before = () => (count++ === 0 ? 'answer lost' : 'denied')
    await assert.rejects(here.add('a.1', exp), OutcomeUnknownError)
    assert.deepEqual([here.has('a.1'), there.has('a.1')], [true, true])
  })

  it('are not forgotten when etcd has an older state, or lets the key go', async () => {
    const { etcd, here, exp } = setUp()
    await here.add('a.1', exp)
    etcd.remove(keys.revokedToken('a.1'))
    here.load([])
    assert.equal(here.has('a.1'), true)
  })

  it('are forgotten once expired, when there are many', async () => {
    const { etcd, held, here, exp } = setUp()
    const add = async (name: string, until: number) =>
      etcd.put(keys.revokedToken(name), JSON.stringify({ exp: until }))
    for (let i = 0; i < 999; i += 1) await add(`${i}.${i}`, exp)
    held.advance(100_000)
    await add('expired.1', exp)
    assert.equal(here.has('expired.1'), false)
    assert.equal(here.has('1.1'), true)
    await add('new.1', exp + 100)
    assert.deepEqual([here.has('1.1'), here.has('new.1')], [false, true])
  })

  it('have room for so many of a generation, whichever node ends them', async () => {
    const { here, there, exp } = setUp()
    for (let i = 0; i < ACCOUNT_REVOCATIONS_MAX - 1; i += 1)
      there.take([
        {
          kind: 'put',
          kv: {
            key: keys.revokedToken(`${i}.7`),
            value: JSON.stringify({ exp }),
            createRevision: i,
            modRevision: i,
            version: 1,
            lease: undefined,
          },
          previous: undefined,
        },
      ])
    assert.equal(there.hasRoom(7), true)
    await here.add('last.7', exp)
    assert.deepEqual([there.hasRoom(7), there.hasRoom(8), here.hasRoom(7)], [false, true, true])
    there.dropGeneration(7)
    assert.equal(there.hasRoom(7), true)
  })

  it('keep the floor of the clock of the node', async () => {
    const { held, here, exp, stored } = setUp()
    held.advance(200_000)
    here.rememberExpired(exp)
    await here.remembering
    assert.deepEqual(stored, [here.clock.now()])
    await here.close()
    assert.equal(stored.length, 2)
  })
})
