import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { LABELS_MAX } from '../../../src/limits.ts'
import { createClient } from '../../support/http-client.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { type AttackedServer, startAttacked } from './attacked-server.ts'

const MEMORIES_MIB = [192, 256]
const IMPORTS = 6
/** Some of these imports are done, the last ones refused. */
const ROWS = 1_000
const PUTS = 15_000
const AT_ONCE = 8

let keys = 0

/** Labels whose keys no other record has, so that V8 describes each set of them by itself. */
function newLabels(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: LABELS_MAX }, () => [`key-${(keys++).toString(36)}`, 'x']))
}

function record(name: string) {
  return { name, hostname: 'h', port: 22, username: 'u', labels: newLabels() }
}

async function importAgain({ url, bearer }: AttackedServer, query: string, first: number) {
  const rows = Array.from({ length: ROWS }, (_, i) => `${JSON.stringify(record(`i${first + i}`))}\n`)
  const answer = await fetch(`${url}/v1/import?format=jsonl&${query}`, {
    method: 'POST',
    headers: { Authorization: bearer },
    body: rows.join(''),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Each record is there only for a moment. */
async function putAndRemove(t: TestContext, { url, bearer }: AttackedServer) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  t.after(() => agent.destroy())
  const ask = createClient(url, { Authorization: bearer }, { agent })
  let next = 0
  const work = async () => {
    while (next < PUTS) {
      const name = `p${next++ % AT_ONCE}`
      await ask('PUT', `/configurations/${name}`, { body: record(name) })
      if (next % 3 === 0) await ask('DELETE', `/configurations/${name}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

for (const memory of MEMORIES_MIB)
  describe(`in ${memory} MiB of memory`, { skip: noMemoryGroups }, () => {
    async function attacked(t: TestContext, attack: (server: AttackedServer) => Promise<unknown>) {
      const group = makeMemoryGroup(t, memory)
      const server = await startAttacked(t, { records: 100, through: group.through })
      await attack(server)
      assert.equal(server.process.exitCode ?? server.process.signalCode, null)
      const { failures } = await server.client('good').work(50)
      assert.deepEqual(failures, [])
      t.diagnostic(`${group.usedMebibytes().toFixed()} MiB in use`)
    }

    it('imports with labels of ever new keys do not end the server', (t) =>
      attacked(t, async (server) => {
        const statuses: number[] = []
        for (let i = 0; i < IMPORTS; i++)
          for (const query of ['dry_run=1', 'mode=merge'])
            statuses.push(await importAgain(server, query, i * ROWS))
        t.diagnostic(statuses.join(' '))
        assert.ok(statuses.includes(200))
      }))

    it('records that come and go, with labels of ever new keys, do not end the server', (t) =>
      attacked(t, (server) => putAndRemove(t, server)))
  })
