import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { type Load, type LoadResult, UNIQUE_DIGITS } from './load.ts'
import { runWrk } from './wrk-load.ts'

const RUN_MS = 250
/** What a run must have asked for, to say anything. */
const REQUESTS_MIN = 50

const hasPackages = existsSync(join(import.meta.dirname, 'node_modules/autocannon'))

const generators: { name: string; run: typeof runWrk; skip: string | false }[] = [
  { name: 'wrk', run: runWrk, skip: missing('wrk') },
  {
    name: 'autocannon',
    run: async (...load) => (await import('./autocannon-load.ts')).runAutocannon(...load),
    skip: !hasPackages && 'autocannon is missing: npm run bench:packages',
  },
]

for (const { name, run: runOnce, skip } of generators) {
  /**
   * Runs against a server of its own. On a busy machine a run may end before there are enough requests: then it is made
   * anew, and longer.
   */
  const run = async (t: Lifetime, load: Load, listener: NumberedListener): Promise<LoadResult> => {
    for (let ms = RUN_MS; ; ms *= 2) {
      const server = await serve(t, listener)
      const [result] = await Promise.allSettled([runOnce(server.url, load, ms)])
      if (server.requests() < REQUESTS_MIN) continue
      if (result.status === 'rejected') throw result.reason
      return result.value
    }
  }

  describe(`load by ${name}`, { skip }, () => {
    it('counts what was answered as it must be', async (t) => {
      const begun = performance.now()
      let requests = 0
      const result = await run(t, { paths: ['/'], status: 304 }, (number, _request, response) => {
        requests = number
        response.writeHead(304).end()
      })
      // Autocannon reports hundredths of a second, and whole milliseconds.
      const seconds = (performance.now() - begun) / 1_000 + 0.01
      assert.ok(result.requests > 0 && result.requests <= requests)
      assert.ok(result.seconds > RUN_MS / 2_000 && result.seconds <= seconds, `${result.seconds} s`)
      assert.ok(result.p99 >= result.p50 && result.p50 >= 0 && result.p99 <= 1_000 * seconds)
    })

    it('fails when a single answer has another status, though it be 200 for 304', async (t) => {
      const result = run(t, { paths: ['/'], status: 304 }, (number, _request, response) =>
        response.writeHead(number === 3 ? 200 : 304).end(),
      )
      await assert.rejects(result, /should be answered 304/)
    })

    it('fails when a connection breaks', async (t) => {
      const result = run(t, { paths: ['/'] }, (number, _request, response) => {
        if (number === 3) response.destroy()
        else response.end()
      })
      await assert.rejects(result, /should be answered 200/)
    })

    it('fails when nobody answers', async (t) => {
      const { url } = await serve(t, () => {})
      await assert.rejects(runOnce(url, { paths: ['/'] }, RUN_MS), /should be answered 200/)
    })

    it('asks for each path with each header, and sends no body twice', async (t) => {
      const paths = new Set<string | undefined>()
      const bodies: string[] = []
      const faults: unknown[] = []
      const answer: NumberedListener = async (_number, request, response) => {
        const chunks: Buffer[] | undefined = await request.toArray().catch(() => undefined)
        // The run has ended meanwhile.
        if (chunks === undefined) return
        const body = Buffer.concat(chunks).toString()
        paths.add(request.url)
        bodies.push(body)
        if (request.method !== 'POST' || request.headers.cookie !== 'a=b' || !/^"\d{12}"$/.test(body))
          faults.push([request.method, request.headers, body])
        response.end()
      }
      const load = {
        method: 'POST',
        paths: ['/one', '/two'],
        headers: { Cookie: 'a=b' },
        body: `"${UNIQUE_DIGITS}"`,
      } as const
      await run(t, load, answer)
      await run(t, load, answer)
      assert.deepEqual(faults, [])
      assert.deepEqual([...paths].sort(), ['/one', '/two'])
      assert.equal(new Set(bodies).size, bodies.length)
    })
  })
}

/** @param number Of the request, from 1. */
type NumberedListener = (number: number, request: IncomingMessage, response: ServerResponse) => unknown

async function serve(t: Lifetime, listener: NumberedListener) {
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    return listener(requests, request, response)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests: () => requests }
}
