import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { pathOf } from '../support/api.ts'
import { type Answer, type Ask, createClient, recordsIn } from '../support/http-client.ts'
import { draft } from '../support/store.ts'
import { type EtcdCluster, missingEtcd, startEtcd } from './support/etcd.ts'
import { nodePlace, startNode } from './support/node.ts'

const NODES = 3
const ROUNDS = 20

const whole = { headers: { 'Cache-Control': 'no-cache' } }

interface Nodes {
  readonly asks: readonly Ask[]
  /** One call at each node, at the same time. */
  race(call: (ask: Ask, node: number) => Promise<Answer>): Promise<Answer[]>
  /** The records, after it has seen that all nodes have the same, and etcd too. */
  records(): Promise<{ readonly id: number; readonly name: string; readonly port: number }[]>
}

async function startNodes(t: TestContext, { urls, client: look }: EtcdCluster): Promise<Nodes> {
  const place = await nodePlace(t, urls)
  const asks: Ask[] = []
  for (let i = 0; i < NODES; i++) {
    const node = await startNode(t, place)
    asks.push(createClient(node.url, { Authorization: await node.bearer() }))
  }
  return {
    asks,
    race: (call) => Promise.all(asks.map(call)),
    async records() {
      const lists = await Promise.all(asks.map((ask) => ask('GET', '/configurations/', whole)))
      const [first] = lists
      assert.ok(first)
      for (const list of lists)
        assert.deepEqual([list.text, list.headers.etag], [first.text, first.headers.etag])
      const stored = await look().list(`${place.prefix}r/`)
      const records = recordsIn(first) as unknown as { id: number; name: string; port: number }[]
      assert.deepEqual(
        stored.map(({ value }) => JSON.parse(value) as { id: number }).sort((a, b) => a.id - b.id),
        records,
      )
      return records
    },
  }
}

/** The one answer with a status that only one may have, and the others. */
function theOne(answers: readonly Answer[], status: number): { won: Answer; lost: Answer[] } {
  const [won, ...more] = answers.filter((answer) => answer.status === status)
  assert.ok(won !== undefined && more.length === 0, answers.map((answer) => answer.text).join('\n'))
  return { won, lost: answers.filter((answer) => answer !== won) }
}

describe('a race over three nodes', { skip: missingEtcd }, async () => {
  const etcd = await startEtcd({ after })

  it('for a name has one winner, whom the others are told', async (t) => {
    const { race, records } = await startNodes(t, etcd)
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await race((ask, node) =>
        ask('POST', '/configurations/', { body: draft(`new ${round}`, { port: node + 1 }) }),
      )
      const { won, lost } = theOne(answers, 200)
      for (const answer of lost) {
        assert.equal(answer.status, 409)
        assert.deepEqual(recordsIn(answer), recordsIn(won))
      }
    }
    // A loser may take an id with it.
    const ids = (await records()).map(({ id }) => id)
    assert.equal(ids.length, ROUNDS)
    assert.ok(ids.every((id, i) => id > (ids[i - 1] ?? 0)))
  })

  it('to rename different records to one name has one winner, and the others stay as they are', async (t) => {
    const { asks, race, records } = await startNodes(t, etcd)
    const [first] = asks
    assert.ok(first)
    for (let round = 0; round < ROUNDS; round++) {
      const names = asks.map((_, node) => `old ${round} ${node}`)
      for (const name of names) await first('POST', '/configurations/', { body: draft(name) })
      const answers = await race((ask, node) =>
        ask('PATCH', pathOf(names[node] ?? ''), { body: { name: `new ${round}` } }),
      )
      const { won, lost } = theOne(answers, 200)
      for (const answer of lost) {
        assert.equal(answer.status, 409)
        assert.deepEqual(recordsIn(answer), recordsIn(won))
      }
      const left = (await records()).map(({ name }) => name)
      assert.equal(left.filter((name) => name === `new ${round}`).length, 1)
      assert.equal(left.filter((name) => names.includes(name)).length, NODES - 1)
    }
  })

  it('to remove a record has one winner; it is not there for the others', async (t) => {
    const { asks, race, records } = await startNodes(t, etcd)
    for (let round = 0; round < ROUNDS; round++) {
      await asks[0]?.('POST', '/configurations/', { body: draft('a') })
      const { lost } = theOne(await race((ask) => ask('DELETE', pathOf('a'))), 209)
      for (const answer of lost) assert.equal(answer.status, 404)
    }
    assert.deepEqual(await records(), [])
  })

  it('to change a record as it was read has one winner; the others are told that it is another', async (t) => {
    const { asks, race, records } = await startNodes(t, etcd)
    const added = await asks[0]?.('POST', '/configurations/', { body: draft('a') })
    let etag = String(added?.headers.etag)
    for (let round = 1; round <= ROUNDS; round++) {
      const answers = await race((ask, node) =>
        ask('PATCH', pathOf('a'), {
          headers: { 'If-Match': etag },
          body: { port: round * NODES + node },
        }),
      )
      const { won, lost } = theOne(answers, 200)
      for (const answer of lost) assert.equal(answer.status, 412)
      assert.deepEqual(await records(), recordsIn(won))
      etag = String(won.headers.etag)
    }
  })

  it('to change fields of a record loses none of them', async (t) => {
    const { asks, race, records } = await startNodes(t, etcd)
    await asks[0]?.('POST', '/configurations/', { body: draft('a') })
    for (let round = 1; round <= ROUNDS; round++) {
      const changes = [{ port: round }, { hostname: `host-${round}` }, { username: `user-${round}` }]
      const answers = await race((ask, node) => ask('PATCH', pathOf('a'), { body: changes[node] }))
      for (const answer of answers) assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(await records(), [{ id: 1, name: 'a', ...Object.assign({}, ...changes) }])
    }
  })
})
