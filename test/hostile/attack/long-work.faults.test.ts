import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Configuration } from '../../../src/store/configuration.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import type { AttackName, Tally } from './attacks.ts'
import { OtherCaller } from './other-caller.ts'

/** Records as long as they can be, in a list of about a megabyte. */
const longest = Array.from({ length: 1_000 }, (_, i) => {
  const [hostname, username] = ['h'.repeat(63).concat('.').repeat(3).concat('example'), 'ü'.repeat(255)]
  return {
    add: new Configuration(i + 1, {
      name: `record-${i + 1}`.padEnd(255, '"'),
      hostname,
      port: 65_535,
      username,
    }),
  }
})

interface Scenario {
  readonly attack: AttackName
  readonly connections: number
  readonly records: Parameters<typeof startAttacked>[1]
  /** Whether the attack took place. */
  readonly holds: (tally: Tally) => boolean
}

const scenarios: Record<string, Scenario> = {
  'exports that nobody waits for': {
    attack: 'abandonedExports',
    connections: 300,
    records: { records: 100_000 },
    holds: ({ closed = 0, answered = 0 }) => closed >= 100 && answered === 0,
  },
  'files of 10 MB, read and refused': {
    attack: 'imports',
    connections: 4,
    records: { records: 1_000 },
    holds: ({ 400: refused = 0, 503: busy = 0 }) => refused + busy > 0,
  },
  'lists of a megabyte, read again and again over 50 connections': {
    attack: 'lists',
    connections: 50,
    records: { records: 0, changes: longest },
    holds: (tally) => (tally[200] ?? 0) > 100,
  },
  'pages of a quarter of a megabyte, read again and again over 50 connections': {
    attack: 'pages',
    connections: 50,
    records: { records: 0, changes: longest },
    holds: (tally) => (tally[200] ?? 0) > 100,
  },
}

describe('a caller does not notice another one with', () => {
  for (const [what, { attack, connections, records, holds }] of Object.entries(scenarios)) {
    it(what, async (t) => {
      const server = await startAttacked(t, records)
      const record = encodeURIComponent(
        records.changes === undefined ? 'record-1' : (longest[0]?.add.name ?? ''),
      )
      const caller = await OtherCaller.logIn(server.url, record)
      t.after(() => caller.close())
      assert.deepEqual((await caller.work(10)).failures, [])

      const running = await server.attack(attack, connections)
      const during = await measure(t, caller, REQUESTS, P99_MS_MAX)
      const tally = await running.stop()
      const memory = server.memory()
      const after = await measure(t, caller, REQUESTS, P99_MS_MAX)
      t.diagnostic(`the attack: ${JSON.stringify(tally)}; ${memory.toFixed()} MiB`)

      assert.deepEqual([during.failures, after.failures], [[], []])
      assert.ok(during.servedP99 < P99_MS_MAX, `p99 is ${during.servedP99} ms`)
      assert.ok(after.servedP99 < P99_MS_MAX, `p99 is ${after.servedP99} ms when the attack is over`)
      assert.ok(holds(tally), `this was no attack: ${JSON.stringify(tally)}`)
    })
  }
})
