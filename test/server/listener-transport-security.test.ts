import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { logIn } from '../support/api.ts'
import { makeCertificate } from '../support/certificate.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { admin, client, start, type TestService } from '../support/service.ts'
import { draft } from '../support/store.ts'

const last = { Connection: 'close' }

/** Requests with the status of their answer, in the order in which they are sent. */
function requests(session: { Cookie: string }): [status: number, bytes: string][] {
  const own = { ...last, ...session }
  const json = (value: unknown) => JSON.stringify(value)
  return [
    [200, formatRequest('GET /healthz', last)],
    [200, formatRequest('POST /login', last, json(admin))],
    [401, formatRequest('POST /login', last, json({ ...admin, password: 'wrong' }))],
    [200, formatRequest('POST /v1/auth/token', last, json(client))],
    [400, formatRequest('POST /v1/auth/token', last, '{}')],
    [200, formatRequest('POST /configurations/', own, json(draft('web1')))],
    [409, formatRequest('POST /configurations/', own, json(draft('web1')))],
    [415, formatRequest('POST /configurations/', own, '{')],
    [200, formatRequest('GET /configurations/', own)],
    [200, formatRequest('HEAD /configurations/', own)],
    [304, formatRequest('GET /configurations/web1', { ...own, 'If-None-Match': '*' })],
    [204, formatRequest('OPTIONS /configurations/', own)],
    [405, formatRequest('PUT /configurations/', own, '{}')],
    [404, formatRequest('GET /nowhere', own)],
    [403, formatRequest('GET /nowhere', last)],
    [413, formatRequest('POST /login', { ...last, 'Content-Length': '70000' })],
    [209, formatRequest('DELETE /configurations/web1', own)],
    // The rest never reaches a resource.
    [400, 'GET /healthz HTTP/1.1\r\n\r\n'],
    [400, formatRequest('GET http://b/healthz', last)],
    [400, formatRequest('CONNECT a:1')],
    [400, 'no HTTP\r\n\r\n'],
    [400, formatRequest('POST /login', { 'Content-Length': '2, 2' })],
    [400, 'POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n\r\n'],
    [431, formatRequest('GET /healthz', { 'X-Long': 'x'.repeat(20_000) })],
  ]
}

/** The Strict-Transport-Security fields of the answers to all of `requests`, each with its status. */
async function fieldsOf(service: TestService): Promise<[number, string[]][]> {
  const session = await logIn(service.url, admin)
  const found: [number, string[]][] = []
  for (const [status, bytes] of requests(session)) {
    const [answer] = parseAnswers(headOnly(bytes, await sendRaw(service.url, bytes)))
    assert.equal(answer?.status, status, bytes)
    found.push([status, answer?.head.match(/^Strict-Transport-Security: .*$/gim) ?? []])
  }
  return found
}

/** Removes the Content-Length of an answer to HEAD, which has no body. */
function headOnly(request: string, received: string): string {
  return request.startsWith('HEAD') ? received.replace(/^Content-Length: .*\r\n/im, '') : received
}

describe('Strict-Transport-Security', () => {
  it('is on every answer over TLS, once', async (t) => {
    const tls = await makeCertificate(t)
    const fields = await fieldsOf(await start(t, { tls }))
    for (const [status, found] of fields) {
      assert.deepEqual(found, ['Strict-Transport-Security: max-age=31536000'], String(status))
    }
  })

  it('is still there after a change of certificate', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const service = await start(t, { tls: old })
    service.useCertificate(next)
    const received = await sendRaw(service.url, formatRequest('GET /healthz', last))
    assert.match(received, /^Strict-Transport-Security: max-age=31536000$/m)
  })

  it('is on no answer over plain HTTP', async (t) => {
    for (const [status, found] of await fieldsOf(await start(t))) assert.deepEqual(found, [], String(status))
  })
})
