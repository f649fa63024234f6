import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createRandom } from '../support/random.ts'
import { draft } from '../support/store.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { readSteps } from './support/etcd-history.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import type { Intent, Operation } from './support/history.ts'
import { nodePlace, startNode } from './support/node.ts'
import { findFaults } from './support/oracle.ts'

interface Body {
  readonly compare?: readonly { readonly target?: string }[]
}

/**
 * A record is added; etcd gets the first attempt only after the second one was made and the record removed again.
 *
 * @param isControl Whether batches do not compare that the one before them is still the last.
 * @returns What the oracle finds wrong.
 */
async function addLate(t: TestContext, isControl: boolean): Promise<string[]> {
  const { members, urls } = await startEtcd(t)
  const [member] = members
  assert.ok(member)
  const proxy = await startEtcdProxy(t, urls[0] ?? '')
  const place = await nodePlace(t, [proxy.url])
  const node = await startNode(t, place)
  const headers = { Authorization: await node.bearer() }
  const operations: Operation[] = []
  const change = async (intent: Intent, path: string, init: RequestInit) => {
    const invokedAt = performance.now()
    const { ok, status } = await node.call(path, { ...init, headers })
    assert.ok(ok, String(status))
    const respondedAt = performance.now()
    operations.push({ client: '', node: '', intent, invokedAt, respondedAt, outcome: { kind: 'ok' } })
  }
  const arrival = Promise.withResolvers<void>()
  if (isControl) proxy.rewrite(withoutRevisions)
  const onLoss = () => proxy.lose(undefined)
  proxy.lose({ share: 1, random: createRandom(), when: 'late', until: arrival.promise, onLoss })

  const record = draft('a', { hostname: 'mark.example' })
  const body = JSON.stringify(record)
  await change({ kind: 'add', name: 'a', mark: record.hostname }, '/configurations/', {
    method: 'POST',
    body,
  })
  await change({ kind: 'remove', name: 'a' }, '/configurations/a', { method: 'DELETE' })
  arrival.resolve()
  await proxy.drained()
  return findFaults({ operations, reads: [], steps: await readSteps(member, place.prefix), ends: [] })
}

function withoutRevisions(path: string, text: string): string {
  if (path !== '/v3/kv/txn') return text
  const body = JSON.parse(text) as Body
  return JSON.stringify({ ...body, compare: body.compare?.filter(({ target }) => target !== 'MOD') })
}

describe('a change whose first attempt comes late', { skip: missingEtcd }, () => {
  it('is not made again', async (t) => assert.deepEqual(await addLate(t, false), []))

  it('would be made again without the comparison with the batch before, and the oracle would say so', async (t) => {
    const faults = await addLate(t, true)
    assert.ok(
      faults.some((fault) => fault.includes('is done twice')),
      faults.join(),
    )
  })
})
