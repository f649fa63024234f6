import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { put } from '../../src/cluster/messages.ts'
import { parseNodeEntry } from '../../src/cluster/node-entry.ts'
import { CLUSTER_CHANGE_MS } from '../../src/cluster/settled-transaction.ts'
import { OutcomeUnknownError, StorageUnavailableError } from '../../src/errors.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { filteredChange } from '../../src/store/filtered-change.ts'
import { amountOf, recordMemory } from '../../src/store/record-room.ts'
import { NameTakenError, StaleListError, UnknownNameError } from '../../src/store/refusals.ts'
import { BULK_TRIES_MAX, OVERTAKEN_MS_MAX } from '../../src/store/writer.ts'
import {
  beginMemoryCluster,
  holdNext,
  meet,
  meetOnce,
  openClusterLog,
  otherNode,
} from '../support/cluster-log.ts'
import { clusterKeys, openClusterNode } from '../support/cluster-node.ts'
import type { MemoryEtcd } from '../support/memory-etcd.ts'
import { draft, names, someone } from '../support/store.ts'

async function begin(recordBytesMax?: number) {
  const etcd = await beginMemoryCluster()
  return { etcd, other: otherNode(etcd), ...(await openClusterLog(etcd, recordBytesMax)) }
}

const record = (id: number, name: string) => new Configuration(id, draft(name))

/** What the transactions from now on compare and do. */
function sizesOf(etcd: MemoryEtcd) {
  const { transact } = etcd
  const sizes: { readonly compare: number; readonly success: number }[] = []
  etcd.transact = (transaction) => {
    sizes.push({ compare: transaction.compare.length, success: transaction.success.length })
    return transact(transaction)
  }
  return sizes
}

/** Another node changes something before the transactions with these numbers, from 1 on; by default before each. */
function beFaster(
  etcd: MemoryEtcd,
  attempts: readonly number[] | undefined,
  change: (attempt: number) => Promise<unknown>,
) {
  let attempt = 0
  const before = async () => {
    attempt += 1
    etcd.before = () => undefined
    if (attempts === undefined || attempts.includes(attempt)) await change(attempt)
    etcd.before = before
    return undefined
  }
  etcd.before = before
}

describe('changes of a node', () => {
  it('are refused if they need memory that this process has not', async () => {
    const { store } = await begin(1.5 * recordMemory(amountOf(record(1, 'a'))))
    await store.add(someone, draft('a'))
    const full = { code: 'memory_full' }
    await assert.rejects(() => store.add(someone, draft('b')), full)
    await assert.rejects(() => store.importAll(someone, [draft('b')], 'merge'), full)
    await assert.rejects(() => store.planImport([draft('b')], 'merge'), full)
    await store.remove(someone, 'a')
    await store.add(someone, draft('b'))
    assert.deepEqual(names(store), ['b'])
  })

  it('get the ids that etcd gives, and resolve once the records show them', async () => {
    const { store, other, held } = await begin()
    await other.put(7, 'theirs')
    assert.equal((await store.add(someone, draft('mine'))).id, 8)
    assert.equal(store.find('mine')?.id, 8)
    held.isDeaf = true
    await other.put(9, 'unheard')
    const adding = store.add(someone, draft('later'))
    const again = store.add(someone, draft('later'))
    held.isDeaf = false
    const [taken] = await Promise.allSettled([again])
    assert.equal((await adding).id, 10)
    assert.ok(taken.status === 'rejected' && taken.reason instanceof NameTakenError)
    assert.equal(taken.reason.holder?.id, 10)
  })

  it('are decided again when another node was faster, for what is there then', async () => {
    const { store, etcd, other } = await begin()
    meetOnce(etcd, () => other.put(1, 'a'))
    await assert.rejects(store.add(someone, draft('a')), (error) => {
      assert.ok(error instanceof NameTakenError)
      assert.equal(error.holder?.id, 1)
      return true
    })
    meetOnce(etcd, () => other.put(1, 'a', { port: 5 }))
    const { before, after } = await store.modify(someone, 'a', { username: 'new' })
    assert.deepEqual([before.port, after.port, after.username], [5, 5, 'new'])
  })

  it('are decided again by halves: one that is overtaken does not keep the others', async () => {
    const { store, etcd, other } = await begin()
    const all = ['a', 'b', 'c', 'd']
    for (const [i, name] of all.entries()) await other.put(i + 1, name)
    const sizes = sizesOf(etcd)
    beFaster(etcd, [1, 3, 5], (attempt) => other.put(4, 'd', { port: 100 + attempt }))
    await Promise.all(all.map((name) => store.modify(someone, name, { username: 'new' })))
    // The key of the node, and each record: all, two of them, the others, one of those, and the last one twice.
    assert.deepEqual(
      sizes.map(({ compare }) => compare).filter((count) => count > 0),
      [1 + 4, 1 + 2, 1 + 2, 1 + 1, 1 + 1, 1 + 1],
    )
    assert.deepEqual(
      store.list(0, 9).map(({ port, username }) => [port, username]),
      [22, 22, 22, 105].map((port) => [port, 'new']),
    )
  })

  it('are refused only after the index has caught up', async () => {
    const { store, other, held } = await begin()
    held.isDeaf = true
    await other.put(1, 'late')
    const removed = store.remove(someone, 'late')
    held.isDeaf = false
    assert.equal((await removed).id, 1)
    assert.equal(held.catchUps, 1)
    await assert.rejects(store.remove(someone, 'late'), UnknownNameError)
    assert.equal(held.catchUps, 2)
  })

  it('that change nothing say so only after the index has caught up', async () => {
    const { store, other, held } = await begin()
    await other.put(1, 'a')
    held.isDeaf = true
    await other.put(1, 'a', { port: 9 })
    const modified = store.modify(someone, 'a', { port: draft('a').port })
    held.isDeaf = false
    assert.equal((await modified).after.port, draft('a').port)
    assert.equal(store.find('a')?.port, draft('a').port)
  })

  it('of one name follow each other', async () => {
    const { store, etcd } = await begin()
    const sizes = sizesOf(etcd)
    const [first, { before, after }] = await Promise.all([
      store.add(someone, draft('a')),
      store.put(someone, draft('a', { port: 3 })),
    ])
    assert.deepEqual([before?.id, after.id, after.port], [first.id, first.id, 3])
    assert.equal(sizes.length, 2)
  })

  it('of one name, many of them, do not keep those of other names waiting', async () => {
    const { store, etcd } = await begin()
    await Promise.all(['a', 'b', 'c'].map((name) => store.add(someone, draft(name))))
    const sizes = sizesOf(etcd)
    const names = ['a', 'a', 'b', 'a', 'c']
    const changed = await Promise.all(names.map((name, i) => store.modify(someone, name, { port: i + 1 })))
    // The key of the node, and a record each.
    assert.deepEqual(
      sizes.map(({ compare }) => compare),
      [1 + 3, 1 + 1, 1 + 1],
    )
    assert.deepEqual(
      changed.map(({ before }) => before.port),
      [22, 1, 22, 2, 22],
    )
  })

  it('go together as far as etcd takes them, whose default is 128 conditions and operations', async () => {
    const { store, etcd } = await begin()
    const all = Array.from({ length: 201 }, (_, i) => `r${i}`)
    const sizes = sizesOf(etcd)
    const added = await Promise.all(all.map((name) => store.add(someone, draft(name))))
    assert.deepEqual(
      added.map(({ id }) => id),
      all.map((_, i) => i + 1),
    )
    await Promise.all(
      all.map((name, i) => store.modify(someone, name, i === 0 ? { port: 7 } : { name: `new-${name}` })),
    )
    for (const { compare, success } of sizes) assert.ok(Math.max(compare, success) <= 128)
    // A busy machine may make it more.
    assert.ok(sizes.length >= Math.ceil(201 / 126) + Math.ceil(401 / 126))
  })

  it('of callers that were answered together go together again', async () => {
    const { store, etcd, held } = await begin()
    const sizes = sizesOf(etcd)
    etcd.before = () => {
      held.now += 20
      return undefined
    }
    const callers = Array.from({ length: 9 }, async (_, i) => {
      await store.add(someone, draft(`first${i}`))
      for (let turn = 0; turn < i; turn++) await turnOfEventLoop()
      await store.add(someone, draft(`second${i}`))
    })
    await Promise.all(callers)
    assert.equal(sizes.length, 2)
  })

  it('are given up when others are faster again and again', async () => {
    const { store, etcd, other, held } = await begin()
    await other.put(1, 'a')
    beFaster(etcd, undefined, (attempt) => {
      held.now += OVERTAKEN_MS_MAX / 4
      return other.put(1, 'a', { port: attempt })
    })
    const modified = store.modify(someone, 'a', { username: 'new' })
    await assert.rejects(modified, /others change the same record again and again/)
    assert.equal(held.now, OVERTAKEN_MS_MAX)
  })

  it('that have waited for too long behind others are refused, and never sent', async () => {
    const { store, etcd, held } = await begin()
    const { sent, arrive } = holdNext(etcd)
    const first = assert.rejects(store.add(someone, draft('a')), OutcomeUnknownError)
    await sent
    const second = assert.rejects(store.add(someone, draft('b')), StorageUnavailableError)
    held.now += CLUSTER_CHANGE_MS
    const third = store.add(someone, draft('c'))
    arrive('request lost')
    await Promise.all([first, second, third])
    assert.deepEqual(names(store), ['c'])
  })

  it('that are too large together are made in parts with rising numbers', async () => {
    const { store, etcd } = await begin()
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
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((name) => store.add(someone, draft(name))))
    assert.deepEqual(
      made.map(({ id }) => id),
      [1, 2, 3, 4],
    )
    assert.ok(numbers.length > 1)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
    meet(etcd, () => 'too_large')
    await assert.rejects(store.add(someone, draft('e')), { code: 'too_many_changes' })
  })

  it('are one change each, if two nodes change one record: of those with one tag, one is made', async (t) => {
    const etcd = await beginMemoryCluster()
    const [a, b] = [await openClusterNode(t, etcd), await openClusterNode(t, etcd)]
    await a.store.add(someone, draft('one'))
    await b.follower.catchUp()
    const change = ({ store }: typeof a, port: number) =>
      store.modify(someone, 'one', { port }, (found) => found.port === 22)
    const outcomes = await Promise.allSettled([change(a, 1), change(b, 2), change(a, 3), change(b, 4)])
    const made = outcomes.filter(({ status }) => status === 'fulfilled')
    assert.equal(made.length, 1)
  })
})

describe('a bulk of a node', () => {
  it('is planned anew after any other change, a few times', async () => {
    const { store, etcd, other } = await begin()
    await other.put(1, 'left')
    const add = (attempt: number) => other.put(10 * etcd.revision, `other${attempt}`)
    beFaster(etcd, [1, 2], add)
    const plan = await store.importAll(someone, [draft('a')], 'replace')
    assert.deepEqual(
      [plan.removed.map(({ name }) => name), plan.tag],
      [['left', 'other1', 'other2'], store.tag],
    )
    assert.deepEqual(plan.added, [store.find('a')])
    let tries = 0
    beFaster(etcd, undefined, (attempt) => {
      tries = attempt
      return add(attempt)
    })
    await assert.rejects(
      store.importAll(someone, [draft('b')], 'merge'),
      /^StorageUnavailableError: Cannot import: other nodes changed records meanwhile, again and again; nothing has changed/,
    )
    assert.deepEqual([store.find('b'), tries], [undefined, BULK_TRIES_MAX])
  })

  it('has one condition for all records, and is overtaken by any other node, whatever that did', async () => {
    const { store, etcd, other } = await begin()
    await store.importAll(someone, [draft('a'), draft('b')], 'merge')
    const sizes = sizesOf(etcd)
    const change = (port: number) =>
      store.importAll(someone, [draft('a', { port }), draft('b', { port })], 'merge')
    await change(1)
    meetOnce(etcd, () => other.nothing())
    await change(2)
    // The key of the node, and that no node has made a batch.
    assert.deepEqual(
      sizes.map(({ compare }) => compare).filter((count) => count > 0),
      [2, 2, 2],
    )
  })

  it('says which ids its records got, after a change that did not get its own', async () => {
    const { store, etcd, other } = await begin()
    meetOnce(etcd, () => other.put(1, 'a'))
    await assert.rejects(store.add(someone, draft('a')), NameTakenError)
    meet(etcd, () => 'no_space')
    await assert.rejects(store.add(someone, draft('b')), { code: 'storage_full' })
    const { added } = await store.importAll(someone, [draft('c'), draft('d')], 'merge')
    assert.deepEqual(
      added.map(({ id, name }) => [id, name]),
      [
        [2, 'c'],
        [3, 'd'],
      ],
    )
  })

  it('of what a filter keeps is planned for the latest records, and made as a whole', async () => {
    const { store, other, held } = await begin()
    await store.add(someone, draft('a'))
    held.isDeaf = true
    await other.put(2, 'unseen')
    const change = { matches: () => true, query: 'all=1', affectedMax: 2 }
    const changing = store.changeTogether(someone, filteredChange({ ...change, patch: { port: 7 } }))
    held.isDeaf = false
    const done = await changing
    assert.deepEqual([done.modified.length, done.tag], [2, store.tag])
    assert.deepEqual(
      store.list(0, 9).map(({ name, port }) => [name, port]),
      [
        ['a', 7],
        ['unseen', 7],
      ],
    )
    const tried = await store.planTogether(filteredChange({ ...change, patch: undefined }))
    assert.deepEqual([tried.removed.length, store.count], [2, 2])
    await store.changeTogether(someone, filteredChange({ ...change, patch: undefined }))
    assert.equal(store.count, 0)
  })

  it('is refused if the records are not those that are expected', async () => {
    const { store, other, held } = await begin()
    const { tag } = await store.planImport([draft('a')], 'merge')
    const isSame = (found: string) => found === tag
    held.isDeaf = true
    await other.put(1, 'unseen')
    await assert.rejects(store.importAll(someone, [draft('a')], 'replace', isSame), StaleListError)
    await assert.rejects(store.planImport([draft('a')], 'replace', isSame), StaleListError)
  })
})

describe('the records of a node', () => {
  it('show all changes of one revision at once, and count revisions without one', async () => {
    const { store, other } = await begin()
    const before = store.revision
    const seen: (readonly [string, number, number])[] = []
    store.onDurable((change, revision) => {
      if ('add' in change) seen.push([change.add.name, revision - before, store.count])
    })
    const [a, b] = [record(1, 'a'), record(2, 'b')]
    await other.made(2, ...[a, b].map(({ name, json }) => put(clusterKeys.record(name), json)))
    await other.nothing()
    assert.deepEqual(
      [seen, store.revision - before, store.recent.revision - before],
      [
        [
          ['a', store.revision - before - 1, 2],
          ['b', store.revision - before - 1, 2],
        ],
        store.revision - before,
        store.revision - before,
      ],
    )
    assert.equal(store.catchUp() instanceof Promise, true)
  })
})

describe('a change whose asker has lost the right to it', () => {
  const refusal = new Error('not allowed any more')
  const refuse = () => {
    throw refusal
  }
  const signal = new AbortController().signal

  it('is refused when it is decided, and never sent', async () => {
    const { store, etcd } = await begin()
    await store.add(someone, draft('here'))
    etcd.before = () => assert.fail('it was sent')
    const asker = { signal, checkAgain: refuse }
    for (const change of [
      store.add(someone, draft('new'), asker),
      store.modify(someone, 'here', { port: 1 }, undefined, asker),
      store.put(someone, draft('here', { port: 1 }), undefined, asker),
      store.remove(someone, 'none', undefined, asker),
      store.importAll(someone, [draft('new')], 'replace', undefined, asker),
    ])
      await assert.rejects(change, refusal)
    assert.deepEqual([store.count, store.find('here')?.port], [1, 22])
  })

  it('between its arrival and its turn is refused, and others of its batch are made', async () => {
    const { store, etcd } = await begin()
    const right = { isHeld: true }
    const asker = { signal, checkAgain: () => right.isHeld || refuse() }
    const { sent, arrive } = holdNext(etcd)
    const first = store.add(someone, draft('first'), asker)
    await sent
    const refused = [
      store.add(someone, draft('refused'), asker),
      store.importAll(someone, [draft('c'), draft('d')], 'merge', undefined, asker),
    ].map((one) => assert.rejects(one, refusal))
    const other = store.add(someone, draft('other'))
    right.isHeld = false
    arrive(undefined)
    await Promise.all([first, other, ...refused])
    assert.deepEqual(names(store), ['first', 'other'])
  })

  it('is refused when it is decided again, because another was faster', async () => {
    const { store, etcd, other } = await begin()
    await other.put(1, 'here')
    const asker = { signal, checkAgain: () => {} }
    const lose = (port: number) => async () => {
      asker.checkAgain = refuse
      await other.put(1, 'here', { port })
    }
    meetOnce(etcd, lose(1))
    await assert.rejects(store.modify(someone, 'here', { username: 'x' }, undefined, asker), refusal)
    asker.checkAgain = () => {}
    meetOnce(etcd, lose(2))
    await assert.rejects(store.importAll(someone, [draft('new')], 'merge', undefined, asker), refusal)
    assert.deepEqual([store.count, store.find('here')?.port], [1, 2])
  })

  it('is refused when it is sent again, if etcd has surely not made it; others of its batch are made', async () => {
    const { store, etcd } = await begin()
    const asker = { signal, checkAgain: () => {} }
    meet(etcd, () => {
      asker.checkAgain = refuse
      return 'unreachable'
    })
    const refused = assert.rejects(store.add(someone, draft('refused'), asker), refusal)
    await Promise.all([refused, store.add(someone, draft('other'))])
    assert.deepEqual(names(store), ['other'])
  })

  it('is shown by a dry run as its asker may make it in the end', async () => {
    const { store } = await begin()
    await store.add(someone, draft('a/one'))
    await store.add(someone, draft('b/one'))
    const rights = (...grants: readonly string[]) =>
      ({ kind: 'client', name: 'team', scope: 'write', grants }) as const
    const asker = {
      signal,
      principal: rights('read', 'write?prefix=a%2F'),
      checkAgain() {
        asker.principal = rights('write?prefix=a%2F')
      },
    }
    const change = filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } })
    const { modified } = await store.planTogether(change, undefined, asker)
    assert.deepEqual(
      modified.map(({ after }) => after.name),
      ['a/one'],
    )
  })
})
