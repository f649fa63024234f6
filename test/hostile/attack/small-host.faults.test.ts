import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { MEMORY_MIB_MIN } from '../../../src/limits.ts'
import { memoryOf } from '../../bench/memory.ts'
import { eventually } from '../../support/eventually.ts'
import { createClient } from '../../support/http-client.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { hasThread } from '../../support/threads.ts'
import { type AttackedServer, measure, P99_MS_MAX, startAttacked } from './attacked-server.ts'
import type { Tally } from './attacks.ts'

const RECORDS = 1_000
const READS = 20_000
const LOGINS = 400
const AT_ONCE = 16
/** Where new memory is slow, each password takes a tenth of a second. */
const TIMEOUT_MS = 500_000
/** Another caller makes so many, while the passwords are checked. */
const REQUESTS = 300
/** Left some seconds after the requests: compiled code, and less garbage than an idle server collects (32 MiB). */
const GROWTH_MIB_MAX = 50
const FURTHER_GROWTH_MIB_MAX = 5

/** Reads records, then tries passwords of users that do not exist, a different one each time. */
async function readAndTryPasswords(t: TestContext, server: AttackedServer, run: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  t.after(() => agent.destroy())
  const ask = createClient(server.url, {}, { agent })
  const headers = { Authorization: server.bearer }
  const read = await inParallel(READS, (i) =>
    ask('GET', `/configurations/record-${(i % RECORDS) + 1}`, { headers }),
  )
  assert.deepEqual(read, { 200: READS })

  const other = server.client(`good-${run}`)
  const trying = inParallel(LOGINS, (i) =>
    ask('POST', '/login', { body: { username: `nobody-${run}-${i}`, password: 'wrong' } }),
  )
  const { failures, servedP99 } = await measure(t, other, REQUESTS, P99_MS_MAX)
  const tried = await trying
  agent.destroy()
  t.diagnostic(`logins: ${JSON.stringify(tried)}`)
  assert.ok((tried[401] ?? 0) > 0, 'no password was checked')
  return { failures, servedP99 }
}

async function inParallel(count: number, one: (i: number) => Promise<{ readonly status: number }>) {
  const tally: Tally = {}
  let next = 0
  const work = async () => {
    while (next < count) {
      const { status } = await one(next++)
      tally[status] = (tally[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return tally
}

/** Both runs, with the memory after each. */
async function attackTwice(
  t: TestContext,
  server: AttackedServer,
  usedMebibytes: () => number,
): Promise<{ readonly p99s: readonly number[] }> {
  const untilThreadEnded = () =>
    eventually('the thread for passwords has ended', () => !hasThread(server.process.pid, 'argon2'))
  // The secret of the client was checked, too.
  await untilThreadEnded()
  const before = usedMebibytes()
  let allowed = before + GROWTH_MIB_MAX
  const p99s = []
  for (const run of [1, 2]) {
    const { failures, servedP99 } = await readAndTryPasswords(t, server, run)
    assert.deepEqual(failures, [])
    p99s.push(servedP99)
    const most = usedMebibytes()
    await untilThreadEnded()
    let left = most
    try {
      await eventually('the memory is given back', () => {
        left = usedMebibytes()
        return left <= allowed
      })
    } finally {
      const figures = [before, most, left].map((figure) => figure.toFixed(1))
      t.diagnostic(`run ${run}: MiB before, after it, and after some quiet: ${figures.join(', ')}`)
    }
    allowed = left + FURTHER_GROWTH_MIB_MAX
  }
  assert.equal(server.process.exitCode, null)
  return { p99s }
}

/** A run takes minutes; the one in a memory group checks the same and more. */
const isCovered = !noMemoryGroups && 'the next test covers it'

describe('reads and wrong passwords', { skip: isCovered }, () => {
  it('leave little memory in use, and other callers are served', { timeout: TIMEOUT_MS }, async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const { p99s } = await attackTwice(t, server, () => memoryOf(server.process.pid).anonymous)
    for (const p99 of p99s) assert.ok(p99 < P99_MS_MAX, `p99 is ${p99} ms`)
    assert.doesNotMatch(server.stderr(), /"event":"memory_short"/)
  })
})

describe(`in ${MEMORY_MIB_MIN} MiB of memory, reads and wrong passwords`, { skip: noMemoryGroups }, () => {
  it('neither end the server nor leave much memory in use', { timeout: TIMEOUT_MS }, async (t) => {
    const group = makeMemoryGroup(t, MEMORY_MIB_MIN)
    const server = await startAttacked(t, { records: RECORDS, through: group.through })
    const { p99s } = await attackTwice(t, server, group.usedMebibytes)
    for (const p99 of p99s) assert.ok(p99 < P99_MS_MAX, `p99 is ${p99} ms`)
    assert.doesNotMatch(server.stderr(), /"event":"memory_short"/)
  })
})

describe('in less memory than connbook needs', { skip: noMemoryGroups }, () => {
  it('the server warns, and starts', async (t) => {
    const { through } = makeMemoryGroup(t, MEMORY_MIB_MIN - 1)
    const server = await startAttacked(t, { records: RECORDS, through })
    await eventually('it warns', () => server.stderr().includes('"event":"memory_short"'))
    assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
  })
})
