import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingEtcd, startEtcd } from './etcd.ts'
import { readRecords, readSteps } from './etcd-history.ts'
import { nodePlace, startNode } from './node.ts'

describe('nodes in this process', { skip: missingEtcd }, () => {
  it('share a place on an etcd; another place has nothing of it; etcd shows what they did', async (t) => {
    const { urls, members } = await startEtcd(t)
    const [member] = members
    assert.ok(member)
    const [place, other] = [await nodePlace(t, urls), await nodePlace(t, urls)]
    const [one, two, apart] = [
      await startNode(t, place),
      await startNode(t, place),
      await startNode(t, other),
    ]
    const headers = { authorization: await one.bearer(), 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'a/b', hostname: 'mark', port: 22, username: 'ops' })
    assert.equal((await one.call('/configurations/', { method: 'POST', headers, body })).status, 200)
    const list = async (node: typeof one, authorization: string) => {
      const answer = await node.call('/configurations/', {
        headers: { authorization, 'cache-control': 'no-cache' },
      })
      return ((await answer.json()) as { configurations: unknown[] }).configurations.length
    }
    assert.deepEqual(
      [await list(two, headers.authorization), await list(apart, await apart.bearer())],
      [1, 0],
    )

    assert.equal((await two.call('/configurations/a%2Fb', { method: 'DELETE', headers })).status, 209)
    const steps = await readSteps(member, place.prefix)
    const changes = steps.filter(({ puts, removed }) => puts.length + removed.length > 0)
    assert.deepEqual(
      changes.map(({ puts, removed, batches }) => ({
        puts,
        removed,
        numbers: batches.map(({ number }) => number),
      })),
      [
        { puts: [{ id: 1, name: 'a/b', mark: 'mark' }], removed: [], numbers: [1] },
        { puts: [], removed: ['a/b'], numbers: [1] },
      ],
    )
    assert.deepEqual(await readRecords(member, place.prefix), [])
  })
})
