import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { readCluster } from '../../src/cluster/cluster-reading.ts'
import { CLUSTER_BEHIND_MS, CLUSTER_CHECK_MS } from '../../src/cluster/follower.ts'
import { parseNodeEntry } from '../../src/cluster/node-entry.ts'
import { CLUSTER_CHANGE_MS } from '../../src/cluster/settled-transaction.ts'
import {
  FolderInUseError,
  OutcomeUnknownError,
  OvertakenError,
  StorageUnavailableError,
} from '../../src/errors.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import {
  beginMemoryCluster as begin,
  changeBy,
  holdNext,
  meet,
  meetOnce,
  openClusterLog,
  otherNode,
  restored,
} from '../support/cluster-log.ts'
import { clusterKeys, openClusterNode } from '../support/cluster-node.ts'
import { until } from '../support/eventually.ts'
import { holdTimers } from '../support/held-timers.ts'
import type { MemoryEtcd } from '../support/memory-etcd.ts'
import { draft, someone } from '../support/store.ts'

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

const isStored = (etcd: MemoryEtcd, name: string) => etcd.valueOf(clusterKeys.record(name)) !== undefined

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
  for (const isBulk of [false, true])
    it(`is decided again${isBulk ? ' as a bulk' : ''}`, async () => {
      const etcd = await begin()
      const { log, held, state, commit } = await openClusterLog(etcd)
      held.isBehind = true
      const overtaken = assert.rejects(commit([add('a'), add('b')], undefined, isBulk), OvertakenError)
      await turnOfEventLoop()
      log.replace(state)
      held.isBehind = false
      await overtaken
      await commit([add('c')])
      assert.deepEqual(
        ['a', 'b', 'c'].map((name) => isStored(etcd, name)),
        [false, false, true],
      )
    })

  it('is not made later when it was given up meanwhile', async () => {
    const etcd = await begin()
    const { log, state, commit } = await openClusterLog(etcd)
    const { sent, arrive } = holdNext(etcd)
    const changes = assert.rejects(commit([add('a'), add('b')]), OutcomeUnknownError)
    await sent
    log.replace(state)
    arrive('too_large')
    await changes
    await commit([add('c')])
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => isStored(etcd, name)),
      [false, false, true],
    )
  })

  it('lists nothing of the revisions of another past', async () => {
    const etcd = await begin()
    const { log, held, commit } = await openClusterLog(etcd)
    await commit([add('a')])
    const reading = await readCluster(etcd, clusterKeys)
    assert.ok(reading !== undefined)
    const { onEvents } = etcd
    const { sent, arrive } = holdNext(etcd)
    const change = assert.rejects(commit([add('b')]), OutcomeUnknownError)
    await sent
    log.replace(restored(reading))
    etcd.onEvents = () => {}
    arrive(undefined)
    await change
    await turnOfEventLoop()
    etcd.restore(reading.revision)
    etcd.onEvents = onEvents
    meet(etcd, ...Array(3).fill(() => undefined), () => {
      held.now += CLUSTER_CHANGE_MS
    })
    await commit([add('c')])
    assert.ok(isStored(etcd, 'c'))
  })

  it('is refused, and not sent, if it takes too long', async () => {
    const etcd = await begin()
    const { held, commit } = await openClusterLog(etcd)
    held.isBehind = true
    const change = assert.rejects(commit([add('a')]), StorageUnavailableError)
    held.now += CLUSTER_CHANGE_MS
    await change
    held.isBehind = false
    await commit([add('b')])
    assert.equal(isStored(etcd, 'a'), false)
  })
})

describe('the last id in etcd', () => {
  it('cannot be one that was given before', async () => {
    const etcd = await begin()
    const { log, commit } = await openClusterLog(etcd)
    await commit([add('a')])
    await commit([add('b')])
    const refusal = /the last id is 1 now, although 2 was given/
    await assert.rejects(etcd.put(clusterKeys.sequence, '1'), refusal)
    for (const name of ['a', 'b']) etcd.remove(clusterKeys.record(name))
    const reading = await readCluster(etcd, clusterKeys)
    assert.ok(reading !== undefined)
    assert.throws(() => log.replace(reading), refusal)
    // Another store, or the same one from a snapshot.
    log.replace(restored(reading))
    const { changes } = await commit([add('c')])
    assert.deepEqual(idsOf(changes), [2])
  })

  it('that cannot be read keeps changes waiting, until it can be', async () => {
    const etcd = await begin()
    const { commit } = await openClusterLog(etcd)
    const take = etcd.onEvents
    const setTo = (value: string) => async () => {
      etcd.onEvents = () => {}
      await etcd.put(clusterKeys.sequence, value)
      etcd.onEvents = take
      return undefined
    }
    meet(etcd, setTo('none'), setTo('5'))
    const { changes } = await commit([add('a')])
    assert.deepEqual(idsOf(changes), [6])
  })

  it('rises although another node has given some: nothing is decided again for that', async () => {
    const etcd = await begin()
    const { commit } = await openClusterLog(etcd)
    meetOnce(etcd, () => otherNode(etcd).put(1, 'theirs'))
    const { changes } = await commit([add('a'), add('b')])
    assert.deepEqual(idsOf(changes), [2, 3])
  })
})

describe('a batch of changes', () => {
  it('is answered in the order of the changes, with what etcd made of them, and the revision', async () => {
    const etcd = await begin()
    const { commit, store } = await openClusterLog(etcd)
    const first = await commit([add('a'), add('b')])
    assert.deepEqual([idsOf(first.changes), first.revision], [[1, 2], etcd.revision])
    const renamed = new Configuration(2, draft('c'))
    const { changes } = await commit([add('d'), { modify: renamed, name: 'b' }, { remove: 'a' }])
    assert.deepEqual(
      changes.map((change) => ('add' in change ? change.add : 'modify' in change ? change.modify : change)),
      [store.find('d'), store.find('c'), { remove: 'a' }],
    )
  })

  it('is made as a whole or not at all', async () => {
    const etcd = await begin()
    const { commit } = await openClusterLog(etcd)
    meetOnce(etcd, () => otherNode(etcd).put(1, 'b'))
    await assert.rejects(commit([add('a'), add('b'), add('c')]), OvertakenError)
    assert.deepEqual(
      ['a', 'c'].map((name) => isStored(etcd, name)),
      [false, false],
    )
  })

  it('is not taken for made because the one before it, which was given up, has been made', async () => {
    const etcd = await begin()
    const { held, commit, store } = await openClusterLog(etcd)
    held.isDeaf = true
    meet(etcd, () => {
      held.now += CLUSTER_CHANGE_MS
      return 'answer lost'
    })
    await assert.rejects(commit([add('a')]), OutcomeUnknownError)
    held.isDeaf = false
    await commit([add('b')])
    assert.ok(isStored(etcd, 'b'))
    assert.ok(store.find('a'))
  })

  it('is counted as made when the watch reports it, although it was given up', async () => {
    const etcd = await begin()
    const { held, commit, log } = await openClusterLog(etcd)
    const counted = () =>
      log.metrics.slice(0, 2).flatMap(({ samples }) => [...samples()].map(({ value }) => value))
    await commit([add('a'), add('b')])
    assert.deepEqual(counted(), [1, 2])
    held.isDeaf = true
    meet(etcd, () => {
      held.now += CLUSTER_CHANGE_MS
      return 'answer lost'
    })
    await assert.rejects(commit([add('c')]), OutcomeUnknownError)
    assert.deepEqual(counted(), [1, 2])
    held.hear()
    assert.deepEqual(counted(), [2, 3])
  })

  it('that adds nothing is not overtaken by additions', async () => {
    const etcd = await begin()
    const other = otherNode(etcd)
    await other.put(1, 'x')
    const { commit } = await openClusterLog(etcd)
    meetOnce(etcd, () => other.put(2, 'y'))
    await commit([{ modify: new Configuration(1, draft('x', { port: 1 })), name: 'x' }])
    assert.ok(etcd.valueOf(clusterKeys.record('x'))?.includes('"port":1'))
  })

  for (const { title, isOvertaken } of [
    { title: 'it has been overtaken', isOvertaken: true },
    { title: 'it was sent again, and made', isOvertaken: false },
  ])
    it(`whose request arrives late does nothing after ${title}`, async () => {
      const etcd = await begin()
      const other = otherNode(etcd)
      await other.put(1, 'x')
      const { commit } = await openClusterLog(etcd)
      const { transact } = etcd
      let late: (() => ReturnType<typeof transact>) | undefined
      etcd.transact = async (transaction) => {
        etcd.transact = transact
        late = () => transact(transaction)
        if (isOvertaken) await other.put(1, 'x', { port: 2 })
        meet(etcd, () => 'request lost')
        return transact(transaction)
      }
      const modify = new Configuration(1, draft('x', { port: 1 }))
      const [{ status }] = await Promise.allSettled([commit([{ modify, name: 'x' }])])
      assert.equal(status, isOvertaken ? 'rejected' : 'fulfilled')
      // As it was when the change was decided.
      await other.put(1, 'x')
      assert.equal((await late?.())?.succeeded, false)
    })
})

describe('a batch with a change that is not allowed any more', () => {
  /** What the test does to a right, and the check of a batch that asks for it. */
  function createRight() {
    const refusal = new Error('not allowed any more')
    const right = { isHeld: true }
    const check = () => {
      if (!right.isHeld) throw refusal
    }
    return { right, check, refusal }
  }

  for (const isBulk of [false, true])
    it(`is refused before it is sent${isBulk ? ' as a bulk' : ''}`, async () => {
      const etcd = await begin()
      const { commit } = await openClusterLog(etcd)
      const { right, check, refusal } = createRight()
      right.isHeld = false
      await assert.rejects(commit([add('a'), add('b')], check, isBulk), refusal)
      assert.equal(isStored(etcd, 'a'), false)
    })

  it('is refused before it is sent again, if etcd has surely not made it', async (t) => {
    const etcd = await begin()
    const { commit } = await openClusterLog(etcd)
    const { right, check, refusal } = createRight()
    const waitFor = holdTime(t)
    meet(etcd, () => {
      right.isHeld = false
      return 'unreachable'
    })
    await waitFor(assert.rejects(commit([add('a')], check), refusal))
    assert.equal(isStored(etcd, 'a'), false)
  })

  for (const isBulk of [false, true])
    for (const [mishap, isMade] of [
      ['request lost', false],
      ['answer lost', true],
    ] as const)
      it(`is not sent again${isBulk ? ' as a bulk' : ''} if etcd may have made it, and what etcd did counts: ${mishap}`, async (t) => {
        const etcd = await begin()
        const { held, commit } = await openClusterLog(etcd)
        const { right, check } = createRight()
        const waitFor = holdTime(t)
        held.isDeaf = true
        const loseRight = () => {
          right.isHeld = false
          return mishap
        }
        meet(etcd, loseRight, () => void setImmediate(held.hear))
        const made = commit([add('a'), add('b')], check, isBulk)
        // What was not made is decided again.
        await waitFor(isMade ? made : assert.rejects(made, OvertakenError))
        assert.deepEqual([isStored(etcd, 'a'), isStored(etcd, 'b')], [isMade, isMade])
      })
})

function idsOf(changes: readonly Change[]) {
  return changes.map((change) => 'add' in change && change.add.id)
}
