import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient } from '../support/http-client.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { admin, start } from '../support/service.ts'

const always = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

describe('every answer', async () => {
  const service = await start({ after }, { flags: ['--access-log'] })
  const auth = { Authorization: await service.bearer() }
  const body = '{"name":"a","hostname":"h","port":1,"username":"u"}'
  const etag = await service.call('/configurations/', { headers: auth }).then((r) => r.headers.get('etag'))
  const requests: Record<string, [bytes: string, status: number]> = {
    'to a stranger': [formatRequest('GET /configurations/'), 403],
    'with a list': [formatRequest('GET /configurations/', auth), 200],
    'to HEAD': [formatRequest('HEAD /healthz'), 200],
    'with 304': [formatRequest('GET /configurations/', { ...auth, 'If-None-Match': etag ?? '' }), 304],
    'to an add': [formatRequest('POST /configurations/', auth, body), 200],
    'to a clash': [formatRequest('POST /configurations/', auth, body), 409],
    'to a delete': [formatRequest('DELETE /configurations/a', auth), 209],
    'to OPTIONS': [formatRequest('OPTIONS /configurations/', auth), 204],
    'to an unknown path': [formatRequest('GET /nowhere', auth), 404],
    'to a login': [formatRequest('POST /login', {}, JSON.stringify(admin)), 200],
    'to a token request': [formatRequest('POST /v1/auth/token', {}, '{}'), 400],
    'to a body too large': [formatRequest('POST /login', { 'Content-Length': '99999999' }, 'x'), 413],
    'to bad framing': [formatRequest('GET //a'), 400],
    'to CONNECT': [formatRequest('CONNECT a:1'), 400],
    'to bytes that are not HTTP': ['what?\r\n\r\n', 400],
    'to a head too large': [formatRequest('GET /', { A: 'a'.repeat(20_000) }), 431],
    'to a target too long': [formatRequest(`GET /${'a'.repeat(20_000)}`), 414],
  }
  for (const [what, [bytes, status]] of Object.entries(requests)) {
    it(`${what} has the protective headers, and its own request id`, async () => {
      const [answer] = parseAnswers(await sendRaw(service.url, bytes, { halfClose: true }))
      assert.equal(answer?.status, status)
      const headers = new Map(
        answer.head
          .split('\r\n')
          .slice(1)
          .map((line) => {
            const [name = '', ...value] = line.split(': ')
            return [name.toLowerCase(), value.join(': ')]
          }),
      )
      for (const [name, value] of Object.entries(always)) assert.equal(headers.get(name), value)
      assert.match(headers.get('x-request-id') ?? '', /^[\w-]{8}-[0-9]+$/)
      for (const name of ['server', 'x-powered-by', 'via']) assert.equal(headers.get(name), undefined)
      assert.doesNotMatch(`${answer.head}${answer.body}`, /connbook\/|node\.?js|\b\d+\.\d+\.\d+\b/i)
    })
  }
})

describe('X-Request-Id', async () => {
  const service = await start({ after }, { flags: ['--access-log'] })
  const ask = createClient(service.url)
  const idFor = async (header: string | readonly string[]) => {
    const { headers } = await ask('GET', '/healthz', { headers: { 'X-Request-Id': header } })
    return String(headers['x-request-id'])
  }

  it('is the caller’s own if that is valid', async () => {
    for (const id of ['a', '0b5c9d0e-7d61-4e0b-8c4a-0d6c3f7a5a11', 'a.b:c/d+e=f@g_h-i', 'x'.repeat(128)]) {
      assert.equal(await idFor(id), id)
    }
  })

  it('is a new one each time if the caller’s is invalid', async () => {
    const bad = ['', 'a b', 'a,b', '"a"', '<a>', 'a;b', "'", '\\', 'x'.repeat(129), '\u00e4', ['a', 'b']]
    const ids = await Promise.all(bad.map(idFor))
    for (const id of ids) assert.match(id, /^[\w-]{8}-[0-9a-z]+$/)
    assert.equal(new Set(ids).size, bad.length)
  })

  it('is in the log', async () => {
    const id = await idFor('find-me')
    const lines = service.log.lines.filter((line) => line.includes(`"request_id":"${id}"`))
    assert.equal(JSON.parse(lines[0] ?? '').path, '/healthz')
  })
})
