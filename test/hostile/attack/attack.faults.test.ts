import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import type { AttackName, Tally } from './attacks.ts'
import { OtherCaller } from './other-caller.ts'

/** The program, 100,000 records, garbage not yet collected, and unread answers. */
const MEMORY_MIB_MAX = 900

interface Scenario {
  readonly attack: AttackName
  readonly connections: number
  readonly records?: number
  /** What another account that only reads may wait, in ms: it needs no disk, so its bound can be lower. */
  readonly readP99Max?: number
  /** Whether the attack took place. */
  readonly holds: (tally: Tally) => boolean
}

const statuses = (tally: Tally, ...all: number[]) => all.every((status) => (tally[status] ?? 0) > 0)
const isOpen = (connections: number) => (tally: Tally) => (tally.open ?? 0) >= connections

const scenarios: Record<string, Scenario> = {
  '500 idle connections': { attack: 'idle', connections: 500, holds: isOpen(500) },
  '500 slow headers': { attack: 'slowHeaders', connections: 500, holds: ({ opened = 0 }) => opened >= 500 },
  '500 slow bodies': { attack: 'slowBodies', connections: 500, holds: ({ opened = 0 }) => opened >= 500 },
  'a long list requested again and again and never read': {
    attack: 'neverReading',
    connections: 500,
    records: 100_000,
    holds: ({ answered = 0, opened = 0 }) => opened >= 50 && answered === 0,
  },
  'a long list read again and again by one client': {
    attack: 'lists',
    connections: 1,
    records: 100_000,
    readP99Max: P99_MS_MAX / 2,
    holds: (tally) => statuses(tally, 200),
  },
  'a long list read again and again by 16 clients': {
    attack: 'lists',
    connections: 16,
    records: 100_000,
    holds: (tally) => statuses(tally, 200),
  },
  'a short list requested again and again and never read': {
    attack: 'neverReading',
    connections: 500,
    holds: ({ answered = 0, opened = 0 }) => opened >= 500 && answered === 0,
  },
  'pipelines of 10,000 requests whose answers are never read': {
    attack: 'pipelines',
    connections: 32,
    holds: ({ opened = 0 }) => opened >= 16,
  },
  '64 logins at once, without end': {
    attack: 'logins',
    connections: 64,
    holds: (tally) => statuses(tally, 401, 503),
  },
  '64 requests for a token at once, without end': {
    attack: 'tokens',
    connections: 64,
    holds: (tally) => statuses(tally, 401, 503),
  },
  '64 bodies of 64 KiB at once, valid, invalid and too long, without end': {
    attack: 'bodies',
    connections: 64,
    holds: (tally) => statuses(tally, 400, 409, 413),
  },
  '64 bodies without end': {
    attack: 'endlessBodies',
    connections: 64,
    holds: ({ answered = 0 }) => answered > 0,
  },
  '64 bodies in chunks of one byte': {
    attack: 'tinyChunks',
    connections: 64,
    holds: ({ opened = 0, closed = 0 }) => opened >= 64 && closed >= 64,
  },
  'more connections than the limit': {
    attack: 'connections',
    connections: 11_000,
    holds: ({ opened = 0, closed = 0 }) => opened > 10_000 && closed > 0,
  },
}

async function assertReadsServed(t: TestContext, url: string, p99Max: number): Promise<void> {
  const reader = await OtherCaller.logIn(url, 'record-1')
  t.after(() => reader.close())
  const { servedP99, failures } = await measure(t, reader, REQUESTS, p99Max)
  assert.deepEqual(failures, [])
  assert.ok(servedP99 < p99Max, `p99 of reads is ${servedP99} ms`)
}

describe('other clients do not notice', () => {
  for (const [what, scenario] of Object.entries(scenarios)) {
    const { attack, connections, records = 1_000, readP99Max, holds } = scenario
    it(what, async (t) => {
      const server = await startAttacked(t, { records })
      const client = server.client('good')
      const { failures: before } = await client.work(10)
      assert.deepEqual(before, [])

      const running = await server.attack(attack, connections)
      const { servedP99, failures } = await measure(t, client, REQUESTS, P99_MS_MAX)
      if (readP99Max !== undefined) await assertReadsServed(t, server.url, readP99Max)
      const memory = server.memory()
      const tally = await running.stop()
      t.diagnostic(`the attack: ${JSON.stringify(tally)}; ${memory.toFixed()} MiB`)

      assert.deepEqual(failures, [])
      assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
      assert.equal(client.keptConnections, 1, 'the connection of the well-behaved client was closed')
      assert.ok(holds(tally), `this was no attack: ${JSON.stringify(tally)}`)
      assert.ok(memory < MEMORY_MIB_MAX, `${memory} MiB`)
      assert.equal((await client.work(10)).failures.length, 0)
    })
  }
})
