import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createRandom } from '../support/random.ts'
import { draft } from '../support/store.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import { nodePlace, startNode } from './support/node.ts'

interface Body {
  readonly compare?: readonly { readonly target?: string }[]
}

/**
 * A record is added; etcd gets the first attempt only after the second one was made and the record removed again.
 *
 * @param isControl Whether batches do not compare that the one before them is still the last.
 * @returns Whether the record is there in the end.
 */
async function addLate(t: TestContext, isControl: boolean): Promise<boolean> {
  const { urls } = await startEtcd(t)
  const proxy = await startEtcdProxy(t, urls[0] ?? '')
  const node = await startNode(t, await nodePlace(t, [proxy.url]))
  const headers = { Authorization: await node.bearer() }
  const arrival = Promise.withResolvers<void>()
  if (isControl) proxy.rewrite(withoutRevisions)
  const onLoss = () => proxy.lose(undefined)
  proxy.lose({ share: 1, random: createRandom(), when: 'late', until: arrival.promise, onLoss })

  const added = await node.call('/configurations/', {
    method: 'POST',
    headers,
    body: JSON.stringify(draft('a')),
  })
  assert.equal(added.status, 200)
  assert.equal((await node.call('/configurations/a', { method: 'DELETE', headers })).status, 209)
  arrival.resolve()
  await proxy.drained()
  const current = { ...headers, 'Cache-Control': 'no-cache' }
  return (await node.call('/configurations/a', { headers: current })).status === 200
}

function withoutRevisions(path: string, text: string): string {
  if (path !== '/v3/kv/txn') return text
  const body = JSON.parse(text) as Body
  return JSON.stringify({ ...body, compare: body.compare?.filter(({ target }) => target !== 'MOD') })
}

describe('a change whose first attempt comes late', { skip: missingEtcd }, () => {
  it('is not made again', async (t) => assert.equal(await addLate(t, false), false))

  it('would be made again without the comparison with the batch before', async (t) =>
    assert.equal(await addLate(t, true), true))
})
