import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { CLUSTER_CURRENT_MS } from '../../src/cluster/follower.ts'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import type { MemoryLog } from '../support/memory-log.ts'
import { draft } from '../support/store.ts'
import { type EtcdCluster, missingEtcd, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import { jumpAhead } from './support/jump-ahead.ts'
import { nodePlace, startNode } from './support/node.ts'

const json = { 'content-type': 'application/json' }

/** A node behind a proxy, and another one beside it. */
async function startTwo(t: TestContext, { urls, client: look }: EtcdCluster) {
  const proxy = await startEtcdProxy(t, urls[0] ?? '')
  const place = await nodePlace(t, [proxy.url])
  const node = await startNode(t, place)
  const other = await startNode(t, { ...place, etcd: urls })
  const headers = { authorization: await node.bearer() }
  const add = async (name: string) => {
    const body = JSON.stringify(draft(name))
    const answer = await other.call('/configurations/', {
      method: 'POST',
      headers: { ...headers, ...json },
      body,
    })
    assert.equal(answer.status, 200)
  }
  const has = (name: string) =>
    eventually(`the node has "${name}"`, async () => {
      return (await node.call(`/configurations/${name}`, { headers })).status === 200
    })
  const tagOf = async ({ call }: Pick<typeof node, 'call'>) =>
    (await call('/configurations/', { headers })).headers.get('etag') ?? ''
  await add('first')
  await has('first')
  return { look, prefix: place.prefix, proxy, node, other, headers, add, has, tagOf }
}

/** Without those of a busy machine, on which etcd may answer late. */
function reasonsIn(log: MemoryLog): string[] {
  const reasons = loggedAs('cluster_disconnected', log).map(({ reason }) => String(reason))
  return reasons.filter((reason) => !reason.includes('no answer within'))
}

function loggedAs(name: string, { lines }: MemoryLog) {
  const logged = lines.map((line) => JSON.parse(line) as { event: string; reason?: string; key?: string })
  return logged.filter(({ event }) => event === name)
}

describe('the watch of a node', { skip: missingEtcd }, async () => {
  const etcd = await startEtcd({ after })

  it('that is compacted while the node is cut off is replaced by a reading; store and epoch stay', async (t) => {
    const { look, proxy, node, other, headers, add, has, tagOf } = await startTwo(t, etcd)
    const before = await tagOf(node)
    const stream = await readEvents(t, node.url, headers)
    await proxy.refuse()
    await add('forgotten')
    await add('second')
    await look().compact()
    await proxy.accept()
    await has('second')
    assert.equal(node.log.events.filter((event) => event === 'cluster_reloaded').length, 1)
    assert.equal(await tagOf(node), await tagOf(other))
    assert.equal((await tagOf(node)).split('-')[0], before.split('-')[0])
    await add('third')
    await has('third')
    // What came in between is not known here: the client has to read the list again.
    const [reset] = await stream.take(1)
    assert.equal(reset?.event, 'reset')
  })

  it('that falls silent is begun anew, and nothing is missed', async (t) => {
    const { proxy, node, add, has } = await startTwo(t, etcd)
    proxy.hushWatches()
    await add('second')
    await has('second')
    assert.deepEqual(reasonsIn(node.log), ['the changes do not come'])
    await add('third')
    await has('third')
  })

  it('that is canceled is begun anew, although its stream stays open', async (t) => {
    const { proxy, node, add, has } = await startTwo(t, etcd)
    proxy.hushWatches()
    const header = { revision: '1' }
    const result = { header, canceled: true, cancel_reason: 'etcdserver: no leader' }
    proxy.sayToWatches(JSON.stringify({ result }))
    await add('second')
    await has('second')
    const [reason] = reasonsIn(node.log)
    assert.match(reason ?? '', /the watch was canceled: etcdserver: no leader/)
  })

  it('that sends what cannot be read says which key it is, once; the node is not current until that is gone', async (t) => {
    const { look, prefix, node, add, has } = await startTwo(t, etcd)
    const [stored] = (await look().list(prefix)).filter(({ key }) => key.endsWith('/first'))
    assert.ok(stored)
    await look().put(stored.key, 'no record')
    await eventually('it has said so', () => reasonsIn(node.log).length > 0)
    jumpAhead(t, CLUSTER_CURRENT_MS)
    assert.equal((await node.call('/readyz')).status, 503)
    const [reason, ...more] = reasonsIn(node.log)
    assert.match(reason ?? '', /^Cannot read the key ".*\/first" of etcd at http:/)
    assert.deepEqual(more, [])
    await look().put(stored.key, stored.value)
    await eventually('it is ready again', async () => (await node.call('/readyz')).status === 200)
    await add('second')
    await has('second')
  })

  it("that sends a key that is not connbook's is followed further, and the log names the key once", async (t) => {
    const { look, prefix, node, add, has } = await startTwo(t, etcd)
    const [stored] = (await look().list(prefix)).filter(({ key }) => key.endsWith('/first'))
    assert.ok(stored)
    const foreign = stored.key.replace(/r\/.*/, 'theirs')
    await look().put(foreign, '1')
    await look().put(foreign, '2')
    await add('second')
    await has('second')
    assert.deepEqual(
      loggedAs('cluster_unknown_key', node.log).map(({ key }) => key),
      [foreign],
    )
  })
})
