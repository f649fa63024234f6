import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { describeRoutes } from '../../src/resources/routes.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'

describe('GET /openapi.json', async () => {
  const service = await start({ after }, { flags: ['--base-path', '/x'] })
  const ask = createClient(service.url, { Authorization: await service.bearer() })

  it('answers the document of this server, with its length', async () => {
    const { status, headers, text } = await ask('GET', '/openapi.json')
    assert.equal(status, 200)
    assert.equal(text, describeRoutes({ basePath: '/x', metricsPublic: false }))
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
    assert.equal(headers['cache-control'], 'no-cache, private')
  })

  it('has a tag, by which it is not sent again', async () => {
    const { etag = '' } = (await ask('GET', '/openapi.json')).headers
    const again = await ask('GET', '/openapi.json', { headers: { 'If-None-Match': etag } })
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag])
    const stale = await ask('GET', '/openapi.json', { headers: { 'If-Match': '"other"' } })
    assert.equal(stale.status, 412)
  })

  it('takes HEAD and OPTIONS, and no other method', async () => {
    const head = await ask('HEAD', '/openapi.json')
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.notEqual(head.headers['content-length'], undefined)
    const options = await ask('OPTIONS', '/openapi.json')
    assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, OPTIONS'])
    assert.equal((await ask('POST', '/openapi.json')).status, 405)
  })

  it('needs a credential', async () => {
    assert.equal((await createClient(service.url)('GET', '/openapi.json')).status, 403)
  })

  it('says that the metrics are public where they are', async (t) => {
    const open = await start(t, { flags: ['--metrics-public'] })
    const askOpen = createClient(open.url, { Authorization: await open.bearer() })
    const { paths } = (await askOpen('GET', '/openapi.json')).json<{
      paths: Record<string, { get: { security: unknown[] } }>
    }>()
    assert.deepEqual(paths['/metrics']?.get.security, [])
  })
})
