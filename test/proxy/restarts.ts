import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { createRandom } from '../support/random.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { keepConnections, Outcomes } from './load.ts'
import type { PublishedServer } from './published-site.ts'
import type { Site } from './site-checks.ts'

export const CLIENTS = 16
export const RESTARTS = 8
const READERS = 4
const ADDED_BETWEEN = { min: 100, max: 300 }

/**
 * Reads through a proxy all the while, each time on a new connection.
 *
 * @returns What `work` does, and the number of each outcome of a read.
 */
export async function readMeanwhile<T>(
  t: TestContext,
  { url }: Site,
  work: () => Promise<T>,
): Promise<{ done: T; reads: Readonly<Record<string, number>> }> {
  const ask = createClient(url, await logIn(url, admin))
  const reads = new Outcomes()
  let isOver = false
  t.after(() => {
    isOver = true
  })
  const reading = Promise.all(
    Array.from({ length: READERS }, async () => {
      while (!isOver) await reads.add(ask('GET', '/configurations/?page=0&per_page=1'))
    }),
  )
  const done = await work()
  isOver = true
  await reading
  return { done, reads: reads.counts }
}

/**
 * Adds records through a proxy while connbook restarts. Asserts that exactly the acknowledged records are there at the
 * end, and that requests fail only while connbook restarts, in a way that the proxy is known for.
 *
 * @param site With `--access-log`.
 * @param failures The outcomes of requests that may fail.
 * @returns The number of each outcome.
 */
export async function addThroughRestarts(
  t: TestContext,
  site: PublishedServer & Site,
  failures: readonly string[] = ['502'],
): Promise<Readonly<Record<string, number>>> {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const headers = await getToken(site.url, client)
  const outcomes = new Outcomes()
  const acknowledged: string[] = []
  let isOver = false
  /** Counts stops and starts; while it is even, a server listens, and none has been told to stop. */
  let phase = 0
  const adding = Promise.all(
    keepConnections(t, site.url, headers, CLIENTS).map(async (ask, i) => {
      for (let count = 0; !isOver; count += 1) {
        const name = `${i}/${count}`
        const begun = phase
        const outcome = await outcomes.add(ask('POST', '/configurations/', { body: draft(name) }))
        if (outcome === '200') acknowledged.push(name)
        else
          assert.ok(failures.includes(outcome) && (begun % 2 === 1 || phase !== begun), `${outcome}: ${name}`)
      }
    }),
  )
  const someAdded = async () => {
    const due = acknowledged.length + random.integer(ADDED_BETWEEN.min, ADDED_BETWEEN.max)
    await Promise.race([adding, eventually(`${due} added`, () => acknowledged.length >= due)])
  }
  let { server } = site
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await someAdded()
    phase += 1
    const start = performance.now()
    assert.equal(await server.stop(), 0)
    assert.doesNotMatch(server.stderr(), /"event":"request".*"complete":false/)
    server = await site.startServer()
    phase += 1
    t.diagnostic(`${Math.round(performance.now() - start)} ms from SIGTERM to the next that listens`)
  }
  await someAdded()
  isOver = true
  await adding
  t.diagnostic(`what the proxy answered: ${JSON.stringify(outcomes.counts)}`)
  const list = await createClient(site.url, headers)('GET', '/configurations/')
  assert.deepEqual(namesIn(list).toSorted(), acknowledged.toSorted())
  return outcomes.counts
}
