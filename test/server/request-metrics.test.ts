import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import { measured } from '../metrics/measured.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { createClient } from '../support/http-client.ts'
import { sendRaw } from '../support/raw-http.ts'
import { usedFolder } from '../support/service.ts'
import { draft, openStore, someone } from '../support/store.ts'
import type { Lifetime } from '../support/temporary-folder.ts'

const TOTAL = 'connbook_http_requests_total'
const SECONDS = 'connbook_http_request_duration_seconds'

/** A folder with more records than one string holds. */
async function folderWithRecords(
  t: Lifetime,
  count: number,
  fields: Partial<NewConfiguration> = {},
): Promise<string> {
  const folder = await usedFolder(t)
  const { store, close } = await openStore(t, folder, { mustExist: true })
  await Promise.all(Array.from({ length: count }, (_, i) => store.add(someone, draft(`record-${i}`, fields))))
  await close()
  return folder
}

describe('requests', () => {
  it('are counted by the pattern of their path, method and status', async (t) => {
    const { service, ask, scrape } = await measured(t)
    const stranger = createClient(service.url)
    await ask('POST', '/configurations/', { body: draft('a/b') })
    await ask('POST', '/configurations', { body: draft('a/b') })
    await ask('GET', '/configurations/a%2Fb')
    await ask('GET', '/configurations/none')
    await ask('HEAD', '/configurations/none?q=1')
    await ask('PATCH', '/configurations/a%2Fb', { body: { port: 0 } })
    await ask('DELETE', '/configurations/a%2Fb')
    await ask('GET', '/configurations/')
    await ask('GET', '/configurations?page=0&per_page=1')
    await stranger('GET', '/configurations/')
    await ask('PUT', '/configurations/a')
    await ask('PROPFIND', '/configurations/a')
    await ask('REPORT', '/configurations/a')
    await ask('OPTIONS', '/configurations/a')
    await ask('GET', '/nowhere/at/all')
    await stranger('GET', '/%ff')
    await ask('GET', '/%ff')
    await stranger('GET', '/healthz')
    await stranger('GET', '/healthz')
    await sendRaw(service.url, 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n')

    const samples = await scrape()
    assert.deepEqual(samples.of(TOTAL), {
      '{route="/v1/auth/token",method="POST",status="200"}': 1,
      '{route="/configurations/",method="POST",status="200"}': 1,
      '{route="/configurations/",method="POST",status="409"}': 1,
      '{route="/configurations/",method="GET",status="200"}': 2,
      '{route="/configurations/",method="GET",status="403"}': 1,
      '{route="/configurations/:name",method="GET",status="200"}': 1,
      '{route="/configurations/:name",method="GET",status="404"}': 1,
      '{route="/configurations/:name",method="HEAD",status="404"}': 1,
      '{route="/configurations/:name",method="PATCH",status="400"}': 1,
      '{route="/configurations/:name",method="DELETE",status="209"}': 1,
      '{route="/configurations/:name",method="PUT",status="400"}': 1,
      '{route="/configurations/:name",method="OPTIONS",status="204"}': 1,
      '{route="/configurations/:name",method="other",status="405"}': 2,
      '{route="none",method="GET",status="404"}': 1,
      '{route="none",method="GET",status="403"}': 1,
      '{route="none",method="GET",status="400"}': 2,
      '{route="/healthz",method="GET",status="200"}': 2,
    })
    assert.equal(samples.get(`${SECONDS}_count{route="/configurations/:name"}`), 9)
    assert.equal(samples.get(`${SECONDS}_count{route="none"}`), 4)
    assert.equal(samples.get('connbook_http_requests_in_flight'), 1)

    const next = await scrape()
    assert.equal(next.get(`${TOTAL}{route="/metrics",method="GET",status="200"}`), 1)
  })

  it('are timed from head to answer', async (t) => {
    const { ask, scrape } = await measured(t)
    for (let i = 0; i < 3; i++) await ask('GET', '/configurations/')
    const samples = await scrape()
    const labels = 'route="/configurations/"'
    const buckets = Object.entries(samples.of(`${SECONDS}_bucket`)).filter(([series]) =>
      series.includes(labels),
    )
    const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, '+Inf']
    assert.deepEqual(
      buckets.map(([series]) => series),
      bounds.map((bound) => `{${labels},le="${bound}"}`),
    )
    const counts = buckets.map(([, count]) => count)
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    )
    assert.equal(counts.at(-1), 3)
  })

  it('that take long are timed as long, in seconds', async (t) => {
    const files = createFailingFiles()
    const { ask, scrape } = await measured(t, { files })
    let elapsedMs = performance.now()
    t.mock.method(performance, 'now', () => elapsedMs)
    files.before = (operation, path) => {
      if (operation === 'datasync' && path.endsWith('/journal.jsonl')) elapsedMs += 60
    }
    await ask('POST', '/configurations/', { body: draft('slow') })
    const samples = await scrape()
    assert.equal(samples.get(`${SECONDS}_bucket{route="/configurations/",le="0.05"}`), 0)
    assert.equal(samples.get(`${SECONDS}_bucket{route="/configurations/",le="0.1"}`), 1)
    const sum = samples.get(`${SECONDS}_sum{route="/configurations/"}`) ?? 0
    assert.ok(Math.abs(sum - 0.06) < 0.000_001, String(sum))
  })

  it('that are not HTTP are counted separately', async (t) => {
    const { service, scrape } = await measured(t)
    await sendRaw(service.url, 'no request\r\n\r\n')
    await sendRaw(service.url, 'GET nothing\r\n\r\n')
    const samples = await scrape()
    assert.equal(samples.get('connbook_http_malformed_total'), 2)
    assert.deepEqual(Object.keys(samples.of(TOTAL)), ['{route="/v1/auth/token",method="POST",status="200"}'])
  })

  it('are counted under their patterns, whatever the base path', async (t) => {
    const { service, ask, scrape } = await measured(t, { flags: ['--base-path', '/deep/down'] })
    await ask('GET', '/configurations/')
    const samples = await scrape()
    assert.equal(samples.get(`${TOTAL}{route="/configurations/",method="GET",status="200"}`), 1)
    const outside = await createClient(new URL(service.url).origin)('GET', '/metrics')
    assert.equal(outside.status, 403)
  })

  it('with a long answer are counted when it has gone out', async (t) => {
    const { ask, scrape } = await measured(t, { folder: await folderWithRecords(t, 1_001) })
    assert.equal((await ask('GET', '/configurations/')).headers['x-total-count'], '1001')
    const series = `${TOTAL}{route="/configurations/",method="GET",status="200"}`
    await eventually('the list is counted', async () => (await scrape()).get(series) === 1)
  })

  it('are no longer in flight when the client has gone in the middle of a body or an answer', async (t) => {
    // Ten megabytes are more than the sockets of both ends take.
    const labels = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`l${i}`, 'x'.repeat(255)]))
    const folder = await folderWithRecords(t, 2_500, { labels })
    const { service, headers, scrape } = await measured(t, { folder })
    const { hostname, port } = new URL(service.url)
    const authorization = `Host: a\r\nAuthorization: ${headers.Authorization}\r\n`
    const inFlight = async () => (await scrape()).get('connbook_http_requests_in_flight')
    const heads = [
      `POST /configurations/ HTTP/1.1\r\n${authorization}Content-Length: 100\r\n\r\n{`,
      `GET /configurations/ HTTP/1.1\r\n${authorization}\r\n`,
    ]
    for (const head of heads) {
      const socket = connect({ host: hostname, port: Number(port) })
      t.after(() => socket.destroy())
      // The client reads nothing of the answer.
      socket.pause()
      socket.write(head)
      await eventually('it is in flight', async () => (await inFlight()) === 2)
      socket.destroy()
      await eventually('it is in flight no longer', async () => (await inFlight()) === 1)
    }
  })
})

describe('connections', () => {
  it('are counted while they are open', async (t) => {
    const { service, scrape } = await measured(t)
    const { hostname, port } = new URL(service.url)
    const openOnes = async () => (await scrape()).get('connbook_http_connections') ?? 0
    // The connection that scrapes is one of them; earlier clients may still be connected.
    const before = await openOnes()
    const sockets = Array.from({ length: 5 }, () => connect({ host: hostname, port: Number(port) }))
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    await eventually('five more are open', async () => (await openOnes()) === before + 5)
    for (const socket of sockets) socket.destroy()
    await eventually('they are closed', async () => (await openOnes()) === before)
  })
})
