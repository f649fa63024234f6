import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { fieldNames } from '../../../src/store/fields.ts'
import { createClient } from '../../support/http-client.ts'
import { type AttackedServer, P99_MS_MAX, startAttacked } from './attacked-server.ts'
import type { RunningAttack } from './attacker-process.ts'
import type { AttackName, Tally } from './attacks.ts'
import { OtherCaller } from './other-caller.ts'

const ORDERS = 2 * fieldNames.length
const RECORDS = 100_000
const IMPORTS = 3
const MANY_RECORDS = 250_000
/** One long stop delays only a few of the requests, which are sent one after the other. */
const HOLD_MS_MAX = 600
/** Noise from other programs only adds time, so the best of this many rounds counts. */
const ROUNDS_MAX = 3

interface Scenario {
  readonly attack: AttackName
  readonly records: number
  /** Whether the attack has taken place. */
  readonly isDone: (tally: Tally) => boolean
}

const scenarios: Record<string, Scenario> = {
  'all records are replaced again and again, with every order in use': {
    attack: 'replaceAll',
    records: RECORDS,
    isDone: (tally) => (tally['import 200'] ?? 0) >= IMPORTS,
  },
  'every order is used for the first time': {
    attack: 'useAllOrders',
    records: MANY_RECORDS,
    isDone: (tally) => (tally['order 200'] ?? 0) >= ORDERS,
  },
}

/** The longest delay of the server's event loop in the last minute or two, in milliseconds. */
async function longestDelay({ url, bearer }: AttackedServer): Promise<number> {
  const { text } = await createClient(url, { Authorization: bearer })('GET', '/metrics')
  const seconds = /^connbook_event_loop_delay_seconds\{quantile="1"\} (\S+)/m.exec(text)?.[1]
  return Number(seconds) * 1000
}

/** Follows the attack until it has taken place. */
async function watch(running: RunningAttack, isDone: Scenario['isDone']) {
  const state = { isDone: false }
  const ended = (async () => {
    while (!state.isDone) {
      state.isDone = isDone(await running.tally())
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  return { state, ended }
}

async function round(t: TestContext, { attack, records, isDone }: Scenario) {
  const server = await startAttacked(t, { records })
  const caller = await OtherCaller.logIn(server.url, 'record-1')
  t.after(() => caller.close())
  const running = await server.attack(attack, 1)
  const { state, ended } = await watch(running, isDone)
  const during = await caller.workWhile(() => !state.isDone)
  await ended
  const tally = await running.stop()
  const after = await caller.work(20)
  const hold = await longestDelay(server)
  const memory = server.memory()
  await server.stop()
  const { requests, p50, p99, max, servedP99 } = during
  t.diagnostic(
    `${requests} requests: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms; the server's ` +
      `event loop: ${hold.toFixed(1)} ms at most; ${memory.toFixed()} MiB; the attack: ${JSON.stringify(tally)}`,
  )
  assert.deepEqual([...during.failures, ...after.failures], [])
  return { servedP99, hold }
}

describe('others read without delay while', { timeout: 400_000 }, () => {
  for (const [what, scenario] of Object.entries(scenarios)) {
    it(what, async (t) => {
      const rounds = [await round(t, scenario)]
      const isGood = ({ servedP99, hold }: (typeof rounds)[number]) =>
        servedP99 < P99_MS_MAX && hold < HOLD_MS_MAX
      while (rounds.length < ROUNDS_MAX && !rounds.some(isGood)) rounds.push(await round(t, scenario))
      assert.ok(rounds.some(isGood), `p99 and longest delay: ${JSON.stringify(rounds)}`)
    })
  }
})
