import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { createClient } from '../../support/http-client.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { OtherCaller } from './other-caller.ts'

const RECORDS = 300_000

describe('a caller does not notice another one with', () => {
  it('four searches at a time', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const caller = await OtherCaller.logIn(server.url, 'record-1')
    t.after(() => caller.close())
    assert.deepEqual((await caller.work(10)).failures, [])

    const running = await server.attack('searches', 4)
    const { failures, servedP99 } = await measure(t, caller, REQUESTS, P99_MS_MAX)
    await eventually('a search is answered', async () => {
      const { 200: answered = 0 } = await running.tally()
      return answered > 0
    })
    const tally = await running.stop()
    t.diagnostic(`the attack: ${JSON.stringify(tally)}; ${server.memory().toFixed()} MiB`)

    assert.deepEqual(failures, [])
    assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
    assert.deepEqual(Object.keys(tally), ['200'])
  })

  it('searches whose connections are closed in the middle, which stop', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const caller = await OtherCaller.logIn(server.url, 'record-1')
    t.after(() => caller.close())
    const ask = createClient(server.url, { Authorization: server.bearer })

    const running = await server.attack('abandonedSearches', 20)
    const { failures, servedP99 } = await measure(t, caller, REQUESTS, P99_MS_MAX)
    const { closed = 0 } = await running.stop()

    assert.deepEqual(failures, [])
    assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
    assert.ok(closed >= 20, `only ${closed} connections were closed`)
    // Were thousands of searches still under way, this one of the same account would have to wait for all of them.
    const after = await ask('GET', '/configurations/?q=RECORD-1&page=0&per_page=1')
    assert.deepEqual([after.status, JSON.parse(after.text).configurations[0].name], [200, 'record-1'])
  })
})
