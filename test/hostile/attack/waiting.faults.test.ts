import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WAITING_CALLS_MAX } from '../../../src/limits.ts'
import { ACCOUNT_WAITING_CALLS_SHARE } from '../../../src/resources/waiting-calls.ts'
import { eventually } from '../../support/eventually.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import type { AttackName, Tally } from './attacks.ts'
import { OtherCaller } from './other-caller.ts'

const RECORDS = 20_000
const MEMORY_MIB_MAX = 500
/** As many as one account may have at once. */
const ALL = WAITING_CALLS_MAX * ACCOUNT_WAITING_CALLS_SHARE

interface Scenario {
  readonly attack: AttackName
  readonly connections: number
  readonly p99Max?: number
  /** Whether the attack has taken place. */
  readonly holds: (tally: Tally) => boolean
}

const scenarios: Record<string, Scenario> = {
  'all its event streams, each with another filter that keeps nothing': {
    attack: 'filteredStreams',
    connections: ALL,
    holds: ({ 200: begun = 0, 'change 200': changes = 0 }) => begun >= ALL && changes > 0,
  },
  'all its event streams, of which nothing is read': {
    attack: 'unreadStreams',
    connections: ALL,
    holds: ({ 200: begun = 0, 'change 200': changes = 0 }) => begun >= ALL && changes > 0,
  },
  'event streams that it leaves as soon as they have begun': {
    attack: 'abandonedStreams',
    connections: 50,
    holds: ({ 200: begun = 0 }) => begun > 100,
  },
  'all its waiting reads, each with another filter that keeps nothing': {
    attack: 'filteredPolls',
    connections: ALL,
    holds: ({ 200: answered = 0, 'change 200': changes = 0 }) => answered >= ALL && changes > 0,
  },
  'all its waiting reads of a record that changes': {
    attack: 'recordPolls',
    connections: ALL,
    // Each change has all of them answered and asked again: as fast as one account may ask, that never ends.
    p99Max: 2 * P99_MS_MAX,
    holds: ({ 200: woken = 0, 'change 200': changes = 0 }) => woken > 100 && changes > 0,
  },
}

describe('a caller does not notice another one with', () => {
  for (const [what, { attack, connections, holds, p99Max = P99_MS_MAX }] of Object.entries(scenarios)) {
    it(what, async (t) => {
      const server = await startAttacked(t, { records: RECORDS })
      const caller = await OtherCaller.logIn(server.url, 'record-1')
      t.after(() => caller.close())
      assert.deepEqual((await caller.work(10)).failures, [])

      const running = await server.attack(attack, connections)
      const { failures, servedP99 } = await measure(t, caller, REQUESTS, p99Max)
      // A read that sees no change is answered when its wait is over.
      await eventually('the attack takes place', async () => holds(await running.tally()))
      const tally = await running.stop()
      const memory = server.memory()
      t.diagnostic(`the attack: ${JSON.stringify(tally)}; ${memory.toFixed()} MiB`)

      assert.deepEqual(failures, [])
      assert.ok(servedP99 < p99Max, `p99 is ${servedP99} ms`)
      assert.ok(memory < MEMORY_MIB_MAX, `${memory} MiB`)
      const refusals = Object.keys(tally).filter((status) => status.startsWith('4'))
      assert.deepEqual(refusals, [], JSON.stringify(tally))
    })
  }
})
