import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientCredential } from '../../src/client/credential.ts'
import { parseEndpoint } from '../../src/client/endpoint.ts'
import { serveOther } from '../commands/remote/other-server.ts'

describe('clientCredential', () => {
  it('asks for one token, and for another after a failure or when the server takes it no longer', async (t) => {
    const answers = ['', 'first', 'second']
    let asked = 0
    const url = await serveOther(t, (_, response) => {
      const token = answers[asked]
      asked += 1
      if (token === '') response.socket?.destroy()
      else response.end(JSON.stringify({ access_token: token }))
    })
    const endpoint = parseEndpoint(url) ?? assert.fail('no endpoint')
    let now = 0
    const credential = clientCredential('script', 'secret', false, { now: () => now })
    const header = async () => (await credential.headers(endpoint)).Authorization
    await assert.rejects(header(), { code: 'no_answer' })
    assert.equal(await header(), 'Bearer first')
    now = 9_999
    assert.equal(credential.renew(), false)
    assert.equal(await header(), 'Bearer first')
    now = 10_000
    assert.equal(credential.renew(), true)
    assert.deepEqual(await Promise.all([header(), header()]), ['Bearer second', 'Bearer second'])
    assert.equal(asked, 3)
  })

  it('ends asking for a token when its caller does', async (t) => {
    const waits = Promise.withResolvers<void>()
    const url = await serveOther(t, () => waits.resolve())
    const endpoint = parseEndpoint(url) ?? assert.fail('no endpoint')
    const caller = new AbortController()
    const headers = clientCredential('script', 'secret', false).headers(endpoint, caller.signal)
    await waits.promise
    caller.abort()
    await assert.rejects(headers, { code: 'no_answer' })
  })
})
