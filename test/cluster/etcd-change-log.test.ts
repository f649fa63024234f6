import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { type ClusterState, readCluster } from '../../src/cluster/cluster-reading.ts'
import { EtcdChangeLog } from '../../src/cluster/etcd-change-log.ts'
import { CLUSTER_BEHIND_MS, CLUSTER_CHECK_MS } from '../../src/cluster/follower.ts'
import { put } from '../../src/cluster/messages.ts'
import { encodeNodeEntry, parseNodeEntry } from '../../src/cluster/node-entry.ts'
import { CLUSTER_CHANGE_MS } from '../../src/cluster/settled-transaction.ts'
import {
  FolderInUseError,
  OutcomeUnknownError,
  OvertakenError,
  StorageUnavailableError,
} from '../../src/errors.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { Records } from '../../src/store/records.ts'
import { beginCluster, clusterKeys, openClusterNode } from '../support/cluster-node.ts'
import { until } from '../support/eventually.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createMemoryEtcd, type MemoryEtcd } from '../support/memory-etcd.ts'
import { draft, someone } from '../support/store.ts'

async function begin(): Promise<MemoryEtcd> {
  const etcd = createMemoryEtcd()
  await beginCluster(etcd)
  return etcd
}

/** A record is changed by the batch of a process. */
function changeBy(
  etcd: MemoryEtcd,
  node: string,
  start: string,
  batch: number,
  id: number,
  fields: Parameters<typeof draft>,
) {
  const record = new Configuration(id, draft(...fields))
  const lastId = Math.max(id, Number(etcd.valueOf(clusterKeys.sequence)))
  return etcd.transact({
    compare: [],
    success: [
      put(clusterKeys.node(node), encodeNodeEntry(batch, start, [], false)),
      put(clusterKeys.record(record.name), record.json),
      put(clusterKeys.sequence, String(lastId)),
    ],
    failure: [],
  })
}

/** What the next transactions meet, in turn. */
function meet(etcd: MemoryEtcd, ...mishaps: (() => ReturnType<MemoryEtcd['before']>)[]) {
  etcd.before = () => mishaps.shift()?.()
}

/** A log whose clock the test holds; etcd sends it changes at once. */
async function openLog(etcd: MemoryEtcd) {
  const state = await readCluster(etcd, clusterKeys)
  assert.ok(state !== undefined)
  const held = { now: 0, isBehind: false }
  const log = new EtcdChangeLog({
    gateway: etcd,
    keys: clusterKeys,
    state,
    node: 'n',
    start: 's',
    follower: {
      catchUp: async () => {},
      get isBehind() {
        return held.isBehind
      },
      isCurrent: true,
      metrics: [],
    },
    fail: assert.ifError,
    records: new Records(state.index, new Scheduler()),
    elapsed: () => held.now,
  })
  etcd.onEvents = (events) => log.take(etcd.revision, events)
  return { log, held, state }
}

/** The same reading after a restore of etcd. */
function restored({ meta, ...others }: ClusterState): ClusterState {
  return { ...others, meta: { ...meta, value: { ...meta.value, epoch: meta.value.epoch + 1 } } }
}

/** Lets time pass only while something is waited for, in steps, so that what a pause has held back begins in between. */
function holdTime(t: TestContext) {
  const tick = holdTimers(t, ['setTimeout', 'setInterval'])
  return async (awaited: Promise<unknown>) => {
    let isOver = false
    const over = awaited.finally(() => {
      isOver = true
    })
    for (let ms = 0; !isOver && ms < 2 * (CLUSTER_CHECK_MS + CLUSTER_BEHIND_MS); ms += STEP_MS) {
      for (let turn = 0; turn < 5; turn++) await turnOfEventLoop()
      tick(STEP_MS)
    }
    await over
  }
}

const STEP_MS = 20

const add = (name: string): Change => ({ add: new Configuration(0, draft(name)) })

describe('batches of a restarted node', () => {
  it('are not taken for those of the process before, although their numbers are the same', async (t) => {
    const etcd = await begin()
    await changeBy(etcd, 'other', 'o', 1, 1, ['x'])
    const node = await openClusterNode(t, etcd, { node: 'n', start: 'second' })
    meet(etcd, async () => {
      etcd.before = () => undefined
      await changeBy(etcd, 'n', 'first', 1, 1, ['x', { hostname: 'late.example' }])
      return undefined
    })
    const { after } = await node.store.modify(someone, 'x', { port: 7 })
    assert.deepEqual([after.hostname, after.port, node.failures], ['late.example', 7, []])
  })

  it('go on with the numbers of the process before', async (t) => {
    const etcd = await begin()
    await changeBy(etcd, 'n', 'first', 41, 1, ['a'])
    const node = await openClusterNode(t, etcd, { node: 'n', start: 'second' })
    await node.store.add(someone, draft('b'))
    assert.equal(parseNodeEntry(etcd.valueOf(clusterKeys.node('n')) ?? '').batch, 42)
  })

  it('are none when the key of the node cannot be read', async (t) => {
    const etcd = await begin()
    await etcd.put(clusterKeys.node('n'), 'nonsense')
    await assert.rejects(
      openClusterNode(t, etcd, { node: 'n' }),
      /Cannot read the key "\/connbook\/w\/n" of etcd/,
    )
  })

  it('follow one that arrives before the first of its own', async (t) => {
    const etcd = await begin()
    const node = await openClusterNode(t, etcd, { node: 'n', start: 'second' })
    await changeBy(etcd, 'n', 'first', 1, 1, ['late'])
    await node.follower.catchUp()
    assert.ok(node.store.find('late'))
    await node.store.modify(someone, 'late', { port: 7 })
    assert.deepEqual(node.failures, [])
  })
})

describe('a data folder that was copied', () => {
  it('stops a process when the other changes a record after it', async (t) => {
    const etcd = await begin()
    const one = await openClusterNode(t, etcd, { node: 'n', start: 'one' })
    const two = await openClusterNode(t, etcd, { node: 'n', start: 'two' })
    await one.store.add(someone, draft('a'))
    await two.follower.catchUp()
    assert.deepEqual([...one.failures, ...two.failures], [])
    await two.store.add(someone, draft('b'))
    await until(() => one.failures.length > 0)
    assert.ok(one.failures[0] instanceof FolderInUseError)
    assert.deepEqual(two.failures, [])
  })

  it('stops one process alone: what waits there is refused, and not sent', async (t) => {
    const etcd = await begin()
    const one = await openClusterNode(t, etcd, { node: 'n', start: 'one' })
    const two = await openClusterNode(t, etcd, { node: 'n', start: 'two' })
    await one.store.add(someone, draft('a'))
    await two.follower.catchUp()
    // The other process is faster than this change, of which etcd then says that it was overtaken.
    meet(etcd, async () => {
      await two.store.add(someone, draft('b'))
      return undefined
    })
    const late = [one.store.add(someone, draft('c')), one.store.add(someone, draft('d'))]
    for (const change of late) await assert.rejects(change, StorageUnavailableError)
    await assert.rejects(one.store.add(someone, draft('e')), StorageUnavailableError)
    await two.store.add(someone, draft('f'))
    assert.ok(one.failures[0] instanceof FolderInUseError)
    assert.deepEqual(two.failures, [])
    assert.deepEqual(
      ['c', 'd', 'e'].map((name) => two.store.find(name)),
      [undefined, undefined, undefined],
    )
  })

  it('is not what a node sees whose etcd was restored from a snapshot of an earlier start', async (t) => {
    const etcd = await begin()
    await changeBy(etcd, 'n', 'first', 1, 1, ['a'])
    const { revision } = etcd
    await changeBy(etcd, 'n', 'second', 1, 2, ['b'])
    const node = await openClusterNode(t, etcd, { node: 'n', start: 'third' })
    await node.store.add(someone, draft('c'))
    etcd.restore(revision)
    // It is sent before anything was read anew.
    const { id } = await node.store.add(someone, draft('d'))
    assert.deepEqual([id, node.store.find('b'), node.failures], [2, undefined, []])
  })
})

describe('what was decided before all was read anew', () => {
  const importOf = (log: EtcdChangeLog) => log.appendTogether([add('a'), add('b')], 1)

  it('is decided again if it is an import, and made if it is a change', async () => {
    const etcd = await begin()
    const { log, held, state } = await openLog(etcd)
    held.isBehind = true
    const imports = [importOf(log), importOf(log)].map((one) => assert.rejects(one, OvertakenError))
    const change = log.append(add('c'))
    await new Promise((resolve) => setImmediate(resolve))
    log.replace(state)
    held.isBehind = false
    await Promise.all([...imports, change])
    const made = ['a', 'b', 'c'].map((name) => etcd.valueOf(clusterKeys.record(name)) !== undefined)
    assert.deepEqual(made, [false, false, true])
  })

  it('is not made later when it was given up meanwhile', async () => {
    const etcd = await begin()
    const { log, state } = await openLog(etcd)
    const sent = Promise.withResolvers<void>()
    const arrival = Promise.withResolvers<void>()
    meet(etcd, async () => {
      sent.resolve()
      await arrival.promise
      return 'too_large' as const
    })
    const changes = ['a', 'b'].map((name) => assert.rejects(log.append(add(name)), OutcomeUnknownError))
    await sent.promise
    log.replace(state)
    arrival.resolve()
    await Promise.all(changes)
    await log.append(add('c'))
    const made = ['a', 'b', 'c'].map((name) => etcd.valueOf(clusterKeys.record(name)) !== undefined)
    assert.deepEqual(made, [false, false, true])
  })

  it('lists nothing of the revisions of another past', async () => {
    const etcd = await begin()
    const { log, held } = await openLog(etcd)
    await log.append(add('a'))
    const reading = await readCluster(etcd, clusterKeys)
    assert.ok(reading !== undefined)
    const sent = Promise.withResolvers<void>()
    const arrival = Promise.withResolvers<void>()
    meet(etcd, async () => {
      sent.resolve()
      await arrival.promise
      etcd.onEvents = () => {}
      return undefined
    })
    const { onEvents } = etcd
    const change = assert.rejects(log.append(add('b')), OutcomeUnknownError)
    await sent.promise
    log.replace(restored(reading))
    arrival.resolve()
    await change
    await new Promise((resolve) => setImmediate(resolve))
    etcd.restore(reading.revision)
    etcd.onEvents = onEvents
    meet(etcd, ...Array(3).fill(() => undefined), () => {
      held.now += CLUSTER_CHANGE_MS
    })
    await log.append(add('c'))
    assert.ok(etcd.valueOf(clusterKeys.record('c')))
  })

  it('is refused, and not sent, if it takes too long', async () => {
    const etcd = await begin()
    const { log, held } = await openLog(etcd)
    held.isBehind = true
    const change = assert.rejects(log.append(add('a')), StorageUnavailableError)
    held.now += CLUSTER_CHANGE_MS
    await change
    held.isBehind = false
    await log.append(add('b'))
    assert.equal(etcd.valueOf(clusterKeys.record('a')), undefined)
  })
})

describe('the last id in etcd', () => {
  it('cannot be one that was given before', async () => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    await log.append(add('a'))
    await log.append(add('b'))
    const refusal = /the last id is 1 now, although 2 was given/
    await assert.rejects(etcd.put(clusterKeys.sequence, '1'), refusal)
    for (const name of ['a', 'b']) etcd.remove(clusterKeys.record(name))
    const reading = await readCluster(etcd, clusterKeys)
    assert.ok(reading !== undefined)
    assert.throws(() => log.replace(reading), refusal)
    // Another store, or the same one from a snapshot.
    log.replace(restored(reading))
    const made = await log.append(add('c'))
    assert.equal('add' in made && made.add.id, 2)
  })

  it('that cannot be read keeps changes waiting, until it can be', async () => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    const take = etcd.onEvents
    const setTo = (value: string) => async () => {
      etcd.onEvents = () => {}
      await etcd.put(clusterKeys.sequence, value)
      etcd.onEvents = take
      return undefined
    }
    meet(etcd, setTo('none'), setTo('5'))
    const made = await log.append(add('a'))
    assert.equal('add' in made && made.add.id, 6)
  })
})

describe('a batch of changes', () => {
  it('is not taken for made because the one before it, which was given up, has been made', async () => {
    const etcd = await begin()
    const { log, held } = await openLog(etcd)
    const take = etcd.onEvents
    const missed: Parameters<typeof take>[0][] = []
    etcd.onEvents = (events) => missed.push(events)
    meet(etcd, () => {
      held.now += CLUSTER_CHANGE_MS
      return 'answer lost'
    })
    await assert.rejects(log.append(add('a')), OutcomeUnknownError)
    etcd.onEvents = (events) => {
      for (const one of missed.splice(0)) take(one)
      take(events)
    }
    await log.append(add('b'))
    assert.ok(etcd.valueOf(clusterKeys.record('b')))
  })

  it('that has waited for too long behind another is refused, and never sent', async () => {
    const etcd = await begin()
    const { log, held } = await openLog(etcd)
    const sent = Promise.withResolvers<void>()
    const arrival = Promise.withResolvers<void>()
    meet(etcd, async () => {
      sent.resolve()
      await arrival.promise
      held.now += CLUSTER_CHANGE_MS
      return 'request lost' as const
    })
    const first = assert.rejects(log.append(add('a')), OutcomeUnknownError)
    await sent.promise
    const second = assert.rejects(log.append(add('b')), StorageUnavailableError)
    arrival.resolve()
    await Promise.all([first, second])
    await log.append(add('c'))
    const made = ['a', 'b', 'c'].map((name) => etcd.valueOf(clusterKeys.record(name)) !== undefined)
    assert.deepEqual(made, [false, false, true])
  })

  it('that is divided again and again is made in parts with rising numbers', async () => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    const take = etcd.onEvents
    const numbers: number[] = []
    etcd.onEvents = (events) => {
      for (const event of events)
        if (event.kind === 'put' && event.kv.key === clusterKeys.node('n'))
          numbers.push(parseNodeEntry(event.kv.value).batch)
      take(events)
    }
    meet(
      etcd,
      () => 'too_large',
      () => 'too_large',
    )
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((name) => log.append(add(name))))
    assert.deepEqual(
      made.map((change) => 'add' in change && change.add.id),
      [1, 2, 3, 4],
    )
    assert.equal(numbers.length, 3)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  })

  it('that adds nothing is tried again at once without the change that was overtaken, although others add', async (t) => {
    const etcd = await begin()
    await changeBy(etcd, 'other', 'o', 1, 1, ['x'])
    await changeBy(etcd, 'other', 'o', 2, 2, ['y'])
    const node = await openClusterNode(t, etcd)
    let sent = 0
    etcd.before = async () => {
      sent += 1
      if (sent > 1) return undefined
      const { before } = etcd
      etcd.before = () => undefined
      await etcd.put(clusterKeys.sequence, '3')
      await changeBy(etcd, 'other', 'o', 3, 1, ['x', { username: 'other' }])
      etcd.before = before
      return undefined
    }
    await Promise.all([
      node.store.modify(someone, 'x', { port: 1 }),
      node.store.modify(someone, 'y', { port: 1 }),
    ])
    // All together, each by itself, and the one that was overtaken.
    assert.equal(sent, 3)
  })
})

describe('a node that alone changes records', () => {
  /** The number of conditions of each transaction from now on. */
  function conditionsOf(etcd: MemoryEtcd): number[] {
    const { transact } = etcd
    const counts: number[] = []
    etcd.transact = (transaction) => {
      counts.push(transaction.compare.length)
      return transact(transaction)
    }
    return counts
  }

  const addAll = (node: Awaited<ReturnType<typeof openClusterNode>>, names: readonly string[]) =>
    Promise.all(names.map((name) => node.store.add(someone, draft(name))))

  it('compares once that no other has changed any, in place of each record', async (t) => {
    const etcd = await begin()
    const node = await openClusterNode(t, etcd)
    const counts = conditionsOf(etcd)
    await addAll(node, ['a', 'b', 'c', 'd', 'e'])
    await addAll(node, ['f', 'g', 'h', 'i', 'j'])
    await Promise.all([node.store.modify(someone, 'a', { port: 7 }), node.store.remove(someone, 'b')])
    // Its own key, the sequence, the keys of the nodes before and after it.
    assert.deepEqual(counts, [2 + 5, 2 + 2, 1 + 2])
  })

  it('compares each record for a while after another has changed one', async (t) => {
    const etcd = await begin()
    const node = await openClusterNode(t, etcd)
    await addAll(node, ['a'])
    await changeBy(etcd, 'other', 'o', 1, 2, ['x'])
    await node.follower.catchUp()
    const counts = conditionsOf(etcd)
    await addAll(node, ['b', 'c', 'd'])
    await addAll(node, ['e', 'f', 'g'])
    assert.deepEqual(counts, [2 + 3, 2 + 3])
  })

  for (const { other, place } of [
    { other: '0', place: 'before' },
    { other: 'z', place: 'after' },
  ])
    it(`is overtaken by another whose key is ${place} its own`, async (t) => {
      const etcd = await begin()
      await changeBy(etcd, other, 'o', 1, 1, ['x'])
      const node = await openClusterNode(t, etcd, { node: 'n' })
      await addAll(node, ['a'])
      meet(etcd, async () => {
        etcd.before = () => undefined
        await changeBy(etcd, other, 'o', 2, 1, ['x', { hostname: 'other.example' }])
        return undefined
      })
      const { after } = await node.store.modify(someone, 'x', { port: 7 })
      assert.deepEqual([after.hostname, after.port], ['other.example', 7])
    })

  it('compares each record again when another was faster, of which it has not heard', async (t) => {
    const etcd = await begin()
    await changeBy(etcd, 'other', 'o', 1, 1, ['x'])
    const passUntil = holdTime(t)
    const node = await openClusterNode(t, etcd)
    await passUntil(addAll(node, ['a']))
    etcd.hushWatches()
    await changeBy(etcd, 'other', 'o', 2, 1, ['x', { hostname: 'other.example' }])
    const counts = conditionsOf(etcd)
    await passUntil(node.store.modify(someone, 'a', { port: 7 }))
    assert.deepEqual(counts, [1 + 2, 1 + 1])
  })

  it('compares each record while it has not heard of its own last change', async (t) => {
    const etcd = await begin()
    const passUntil = holdTime(t)
    const node = await openClusterNode(t, etcd)
    await passUntil(addAll(node, ['a']))
    etcd.hushWatches()
    const counts = conditionsOf(etcd)
    const late = addAll(node, ['b'])
    while (counts.length === 0) await turnOfEventLoop()
    await passUntil(Promise.all([late, addAll(node, ['c', 'd', 'e'])]))
    // Again, because it did not know the sequence either.
    assert.deepEqual(counts, [2 + 2, 2 + 3, 2 + 3])
  })
})

describe('a change that is not allowed any more', () => {
  /** What the test does to a right, and the check of a change that asks for it. */
  function createRight() {
    const refusal = new Error('not allowed any more')
    const right = { isHeld: true }
    const check = () => {
      if (!right.isHeld) throw refusal
    }
    return { right, check, refusal }
  }

  const isStored = (etcd: MemoryEtcd, name: string) => etcd.valueOf(clusterKeys.record(name)) !== undefined

  it('is refused when it has waited for another batch, and others of its batch are made', async () => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    const { right, check, refusal } = createRight()
    const held = Promise.withResolvers<undefined>()
    const sent = Promise.withResolvers<void>()
    meet(etcd, () => {
      sent.resolve()
      return held.promise
    })
    const first = log.append(add('first'), check)
    await sent.promise
    const refused = assert.rejects(log.append(add('refused'), check), refusal)
    const other = log.append(add('other'))
    const importing = assert.rejects(log.appendTogether([add('c'), add('d')], 0, check), refusal)
    right.isHeld = false
    held.resolve(undefined)
    await Promise.all([first, refused, other, importing])
    const names = ['first', 'refused', 'other', 'c', 'd']
    assert.deepEqual(
      names.map((name) => isStored(etcd, name)),
      [true, false, true, false, false],
    )
    await log.close()
  })

  it('is refused before it is sent again, if etcd has surely not made it', async (t) => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    const { right, check, refusal } = createRight()
    const waitFor = holdTime(t)
    meet(etcd, () => {
      right.isHeld = false
      return 'unreachable'
    })
    await waitFor(assert.rejects(log.append(add('a'), check), refusal))
    assert.equal(isStored(etcd, 'a'), false)
    await log.close()
  })

  for (const [mishap, isMade] of [
    ['request lost', false],
    ['answer lost', true],
  ] as const) {
    it(`is not sent again if etcd may have made it, and what etcd did counts: ${mishap}`, async (t) => {
      const etcd = await begin()
      const { log } = await openLog(etcd)
      const { right, check } = createRight()
      const waitFor = holdTime(t)
      meet(etcd, () => {
        right.isHeld = false
        return mishap
      })
      // A change that was not made is decided again.
      const settled = ({ status }: PromiseSettledResult<unknown>) => status === 'fulfilled'
      const refused = Promise.allSettled([log.append(add('a'), check), log.append(add('c'), check)])
      const other = log.append(add('b'))
      await waitFor(Promise.all([refused, other]))
      assert.deepEqual((await refused).map(settled), [isMade, isMade])
      for (const one of await refused)
        if (one.status === 'rejected') assert.ok(one.reason instanceof OvertakenError)
      assert.deepEqual(
        ['a', 'b', 'c'].map((name) => isStored(etcd, name)),
        [isMade, true, isMade],
      )
      await log.close()
    })
  }

  it('is not sent again as an import either', async (t) => {
    const etcd = await begin()
    const { log } = await openLog(etcd)
    const { right, check } = createRight()
    const waitFor = holdTime(t)
    meet(etcd, () => {
      right.isHeld = false
      return 'request lost'
    })
    const { revision } = etcd
    await waitFor(assert.rejects(log.appendTogether([add('a'), add('b')], revision, check), OvertakenError))
    assert.deepEqual([isStored(etcd, 'a'), isStored(etcd, 'b')], [false, false])
    await log.close()
  })
})
