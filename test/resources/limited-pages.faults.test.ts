import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Request } from '../../src/http/message.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { parseGrants } from '../../src/store/grants.ts'
import { loadStore } from '../support/loaded-store.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { draft } from '../support/store.ts'

const grants = parseGrants(['read?prefix=host-1'])
const PAGE_RECORDS = 50
/** So few that each query is another one, even of 10,000 records: what is asked again is remembered. */
const PAGES = 100
const REPEATS = 10
const ROUNDS = 21

/** Medians of the CPU time of a page by name, in microseconds: without grants, and with one grant of a prefix. */
async function costsOf(count: number): Promise<{ readonly all: number; readonly limited: number }> {
  const drafts = Array.from({ length: count }, (_, i) => draft(`host-${i}`))
  const scheduler = new Scheduler()
  const store = loadStore(drafts, scheduler)
  // About a ninth of the records begin so.
  const pages = Math.floor(count / 9 / PAGE_RECORDS)
  // New handlers remember no page.
  const newList = () => configurationHandlers(store, '', scheduler).list
  const costs: { all: number[]; limited: number[] } = { all: [], limited: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const who of ['all', 'limited'] as const) {
      const before = process.threadCpuUsage()
      for (let i = 0, list = newList(); i < REPEATS * PAGES; i++) {
        if (i % PAGES === 0) list = newList()
        const query = `sort=name&page=${i % pages}&per_page=${PAGE_RECORDS - (i % 10)}`
        const reply = await list(who === 'all' ? asked(query) : limitedTo(asked(query)))
        assert.match(bodyOf(reply), /"name":"host-1/)
      }
      const { user, system } = process.threadCpuUsage(before)
      costs[who].push((user + system) / (REPEATS * PAGES))
    }
  return { all: medianOf(costs.all), limited: medianOf(costs.limited) }
}

function asked(query: string): Request {
  return { ...requestOf({}, '', query), method: 'GET' }
}

function limitedTo(request: Request): Request {
  return { ...request, principal: { kind: 'user', name: 'limited', scope: 'read', grants } }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function assertAtMost(t: TestContext, what: string, ratio: number, most: number) {
  t.diagnostic(`${what}: ${ratio.toFixed(2)} times`)
  assert.ok(ratio <= most, `${what}: ${ratio}`)
}

describe('a page by name for an account with one grant of a prefix', () => {
  it('takes at most twice the CPU time of one without grants, and as much of 1,000,000 records as of 10,000', async (t) => {
    const small = await costsOf(10_000)
    const large = await costsOf(1_000_000)
    assertAtMost(t, 'of 10,000, to one without grants', small.limited / small.all, 2)
    assertAtMost(t, 'of 1,000,000, to one without grants', large.limited / large.all, 2)
    assertAtMost(t, 'of 1,000,000, to one of 10,000', large.limited / small.limited, 2)
  })
})
