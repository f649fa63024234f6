import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Gateway, openGateway } from '../../src/cluster/gateway.ts'
import { NameTakenError, StaleRecordError, UnknownNameError } from '../../src/store/refusals.ts'
import { beginCluster, openClusterNode } from '../support/cluster-node.ts'
import { draft, someone } from '../support/store.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'

async function begin(urls: readonly string[]) {
  const gateway = openGateway({ endpoints: urls })
  await beginCluster(gateway)
  gateway.close()
}

/** @param beforeTransaction Called before each transaction of the node is sent, with its number. */
async function openNode(
  t: TestContext,
  urls: readonly string[],
  beforeTransaction: (number: number) => Promise<unknown> = async () => {},
) {
  const opened = openGateway({ endpoints: urls })
  let sent = 0
  const gateway: Gateway = {
    ...opened,
    async transact(transaction) {
      await beforeTransaction(++sent)
      // On a busy machine, a shorter wait would make another attempt.
      return opened.transact(transaction, PATIENT)
    },
  }
  return { ...(await openClusterNode(t, gateway)), sent: () => sent }
}

describe('two nodes on one etcd', { skip: missingEtcd }, () => {
  it('add, change, rename and remove; each sees what the other has done', async (t) => {
    const { urls } = await startEtcd(t)
    await begin(urls)
    const [a, b] = [await openNode(t, urls), await openNode(t, urls)]
    const one = await a.store.add(someone, draft('one'))
    const two = await b.store.add(someone, draft('two'))
    assert.deepEqual([one.id, two.id], [1, 2])
    await assert.rejects(b.store.add(someone, draft('one')), NameTakenError)
    const { before, after } = await b.store.modify(someone, 'one', { name: 'uno', port: 7 })
    assert.deepEqual([before.name, after.name, after.port, after.id], ['one', 'uno', 7, 1])
    await assert.rejects(a.store.remove(someone, 'one'), UnknownNameError)
    await assert.rejects(
      a.store.remove(someone, 'uno', ({ port }) => port === 22),
      StaleRecordError,
    )
    assert.equal((await a.store.remove(someone, 'uno')).id, 1)
    await b.follower.catchUp()
    assert.equal(b.store.find('uno'), undefined)
    assert.equal(a.store.tag, b.store.tag)
    const plan = await a.store.importAll(someone, [draft('two', { port: 9 }), draft('three')], 'merge')
    assert.deepEqual([plan.added.length, plan.modified.length, plan.tag], [1, 1, a.store.tag])
    await b.follower.catchUp()
    assert.deepEqual(
      b.store.list(0, 10).map(({ id, name, port }) => [id, name, port]),
      [
        [2, 'two', 9],
        [3, 'three', 22],
      ],
    )
    const many = await Promise.all(
      Array.from({ length: 500 }, (_, i) => (i % 2 ? a : b).store.add(someone, draft(`m${i}`))),
    )
    assert.equal(new Set(many.map(({ id }) => id)).size, 500)
    await a.follower.catchUp()
    assert.deepEqual([a.store.count, a.failures, b.failures], [502, [], []])
  })

  it('make what goes in one batch with a change that is overtaken, and that one decided again', async (t) => {
    const { urls } = await startEtcd(t)
    await begin(urls)
    const b = await openNode(t, urls)
    await b.store.add(someone, draft('one'))
    const a = await openNode(t, urls, async (number) => {
      if (number === 1) await b.store.modify(someone, 'one', { port: 1 })
    })
    const [modified, added] = await Promise.all([
      a.store.modify(someone, 'one', { username: 'a' }),
      a.store.put(someone, draft('two')),
    ])
    assert.deepEqual([modified.before.port, modified.after.port, modified.after.username], [1, 1, 'a'])
    assert.equal(added.after.id, 2)
    // Both together, and each by itself.
    assert.equal(a.sent(), 3)
  })

  it('import for the records as they are, if another has changed one meanwhile', async (t) => {
    const { urls } = await startEtcd(t)
    await begin(urls)
    const b = await openNode(t, urls)
    await b.store.add(someone, draft('one'))
    const a = await openNode(t, urls, async (number) => {
      if (number === 1) await b.store.modify(someone, 'one', { port: 1 })
    })
    const { modified, unchanged } = await a.store.importAll(someone, [draft('one', { port: 9 })], 'merge')
    assert.deepEqual([modified.length, unchanged, a.sent()], [1, 0, 2])
  })
})
