import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { runAutocannon } from './autocannon-load.ts'
import { UNIQUE_DIGITS } from './load.ts'
import { runWrk } from './wrk-load.ts'

const RUN_MS = 250

const generators = [
  { name: 'wrk', run: runWrk, skip: missing('wrk') },
  { name: 'autocannon', run: runAutocannon, skip: false },
] as const

for (const { name, run, skip } of generators) {
  describe(`load by ${name}`, { skip }, () => {
    it('counts what was answered as it must be', async (t) => {
      const url = await serve(t, (_request, response) => response.writeHead(304).end())
      const result = await run(url, { paths: ['/'], status: 304 }, RUN_MS)
      assert.ok(result.requests > 0)
      assert.ok(result.seconds > RUN_MS / 2000 && result.seconds < 5, `${result.seconds} s`)
      // Autocannon tells whole milliseconds.
      assert.ok(result.p99 >= result.p50 && result.p50 >= 0 && result.p99 <= 1_000 * result.seconds)
    })

    it('fails when a single answer has another status, though it be 200 for 304', async (t) => {
      let requests = 0
      const url = await serve(t, (_request, response) =>
        response.writeHead(++requests === 3 ? 200 : 304).end(),
      )
      await assert.rejects(run(url, { paths: ['/'], status: 304 }, RUN_MS), /should be answered 304/)
    })

    it('fails when a connection breaks', async (t) => {
      let requests = 0
      const url = await serve(t, (_request, response) => {
        if (++requests === 3) response.destroy()
        else response.end()
      })
      await assert.rejects(run(url, { paths: ['/'] }, RUN_MS), /should be answered 200/)
    })

    it('fails when nobody answers', async (t) => {
      const url = await serve(t, () => {})
      await assert.rejects(run(url, { paths: ['/'] }, RUN_MS), /should be answered 200/)
    })

    it('asks for each path with each header, and sends no body twice', async (t) => {
      const paths = new Set<string | undefined>()
      const bodies: string[] = []
      const faults: unknown[] = []
      const url = await serve(t, async (request, response) => {
        const body = Buffer.concat(await request.toArray()).toString()
        paths.add(request.url)
        bodies.push(body)
        if (request.method !== 'POST' || request.headers.cookie !== 'a=b' || !/^"\d{12}"$/.test(body))
          faults.push([request.method, request.headers, body])
        response.end()
      })
      const load = {
        method: 'POST',
        paths: ['/one', '/two'],
        headers: { Cookie: 'a=b' },
        body: `"${UNIQUE_DIGITS}"`,
      } as const
      await run(url, load, RUN_MS)
      await run(url, load, RUN_MS)
      assert.deepEqual(faults, [])
      assert.deepEqual([...paths].sort(), ['/one', '/two'])
      assert.equal(new Set(bodies).size, bodies.length)
    })
  })
}

async function serve(t: Lifetime, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
