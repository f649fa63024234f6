import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { folderWithReaders, readingClient, readingUser } from '../support/readers.ts'
import { start } from '../support/service.ts'
import { Samples } from './scrape.ts'

describe('GET /metrics', async () => {
  const service = await start({ after }, { folder: await folderWithReaders({ after }) })
  const ask = createClient(service.url)

  it('shows nothing to a stranger', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      const answer = await ask(method, '/metrics')
      assert.equal(answer.status, 403, method)
      assert.ok(!answer.text.includes('connbook_'))
    }
  })

  const credentials = {
    'a bearer of a read-only client': getToken(service.url, readingClient),
    'the cookie of a read-only user': logIn(service.url, readingUser),
    'a bearer': service.bearer().then((Authorization) => ({ Authorization })),
  }
  for (const [name, headers] of Object.entries(credentials)) {
    it(`shows Prometheus' text format to ${name}`, async () => {
      const answer = await ask('GET', '/metrics', { headers: await headers })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(new Samples(answer.text).get('connbook_records'), 0)
    })
  }

  it('answers HEAD and OPTIONS, and no other method than GET', async () => {
    const headers = await credentials['a bearer']
    const head = await ask('HEAD', '/metrics', { headers })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.ok(Number(head.headers['content-length']) > 1_000)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await ask(method, '/metrics', { headers })
      assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, HEAD, OPTIONS'], method)
    }
    assert.equal((await ask('OPTIONS', '/metrics', { headers })).status, 204)
    assert.equal((await ask('GET', '/metrics/', { headers })).status, 404)
  })

  it('is public with --metrics-public, and nothing else is', async (t) => {
    const open = createClient((await start(t, { flags: ['--metrics-public'] })).url)
    assert.equal((await open('GET', '/metrics')).status, 200)
    assert.equal((await open('HEAD', '/metrics')).status, 200)
    assert.equal((await open('GET', '/metrics?x=1')).status, 400)
    assert.equal((await open('POST', '/metrics')).status, 403)
    assert.equal((await open('GET', '/configurations/')).status, 403)
  })

  it('is below the base path', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public', '--base-path', '/below'] })
    assert.equal((await createClient(url)('GET', '/metrics')).status, 200)
    assert.equal((await createClient(new URL(url).origin)('GET', '/metrics')).status, 403)
  })
})
