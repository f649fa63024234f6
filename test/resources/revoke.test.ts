import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { SUCCESSES_LISTED } from '../../src/auth/attempt-log.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { addedBy } from '../audit/trail.ts'
import { getToken, logIn } from '../support/api.ts'
import { type Answer, createClient, type Headers } from '../support/http-client.ts'
import { folderWithReaders, readingClient } from '../support/readers.ts'
import { admin, client, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

const path = '/v1/auth/revoke'
const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }
const basicOf = (id: string, secret: string) => ({
  Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const basic = basicOf(client.client_id, client.client_secret)
const form = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString()

function errorOf(answer: Answer) {
  return [answer.status, answer.json<{ error: string }>().error]
}

describe('POST /v1/auth/revoke', async () => {
  const folder = await folderWithReaders({ after })
  const service = await start({ after }, { folder, environment: {} })
  const ask = createClient(service.url)
  const isGood = async (headers: Headers) => {
    const { status } = await ask('GET', '/configurations/', { headers })
    return status === 200
  }
  const newToken = async (credentials: object = client) => {
    const headers = await getToken(service.url, credentials)
    return { headers, token: headers.Authorization.slice('Bearer '.length) }
  }

  const ways: Record<string, (token: string) => { headers?: Headers; body: unknown }> = {
    JSON: (token) => ({ body: { ...client, token } }),
    'a form': (token) => ({
      headers: formType,
      body: form({ ...client, token, token_type_hint: 'access_token' }),
    }),
    'HTTP Basic and a form': (token) => ({ headers: { ...formType, ...basic }, body: form({ token }) }),
    'HTTP Basic and JSON': (token) => ({ headers: basic, body: { token, token_type_hint: 'refresh_token' } }),
  }
  for (const [way, partsOf] of Object.entries(ways)) {
    it(`ends a token of the client, by ${way}; a second call is answered alike`, async () => {
      const [one, other] = [await newToken(), await newToken()]
      for (let turn = 0; turn < 2; turn++) {
        const answer = await ask('POST', path, partsOf(one.token))
        assert.deepEqual([answer.status, answer.text], [200, ''])
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.deepEqual([await isGood(one.headers), await isGood(other.headers)], [false, true])
      }
    })
  }

  it('says 200 to the token of another, to a session and to any other text, and ends nothing', async () => {
    const theirs = await newToken(readingClient)
    const session = await logIn(service.url, admin)
    const texts = [
      theirs.token,
      session.Cookie.split('=')[1] ?? '',
      'x',
      'a.b.c',
      '\u0000',
      `${theirs.token}x`,
    ]
    const added = await addedBy(folder, async () => {
      for (const token of texts) {
        assert.equal((await ask('POST', path, { headers: basic, body: { token } })).status, 200, token)
      }
    })
    assert.deepEqual(added, [])
    assert.deepEqual([await isGood(theirs.headers), await isGood(session)], [true, true])
  })

  it('lets a read-only client end its own token', async () => {
    const { headers, token } = await newToken(readingClient)
    assert.equal((await ask('POST', path, { body: { ...readingClient, token } })).status, 200)
    assert.equal(await isGood(headers), false)
  })

  it('refuses what the token endpoint refuses, in the same way, and ends nothing', async () => {
    const { headers, token } = await newToken()
    const wrong = basicOf(client.client_id, 'wrong')
    const rows: [parts: { headers?: Headers; body: unknown }, error: [number, string]][] = [
      [{ headers: wrong, body: { token } }, [401, 'invalid_client']],
      [{ body: { client_id: 'nobody', client_secret: 'x', token } }, [401, 'invalid_client']],
      [{ body: { token } }, [400, 'invalid_request']],
      [{ headers, body: { token } }, [400, 'invalid_request']],
      [{ headers: basic, body: {} }, [400, 'invalid_request']],
      [{ headers: basic, body: { token: '' } }, [400, 'invalid_request']],
      [{ headers: basic, body: { token: 1 } }, [400, 'invalid_request']],
      [{ headers: basic, body: { token, client_secret: client.client_secret } }, [400, 'invalid_request']],
      [
        { headers: { ...basic, ...formType }, body: `token=${token}&token=${token}` },
        [400, 'invalid_request'],
      ],
      [{ headers: { ...basic, 'Content-Type': 'image/png' }, body: 'x' }, [415, 'invalid_request']],
    ]
    for (const [parts, error] of rows) {
      const answer = await ask('POST', path, parts)
      assert.deepEqual(errorOf(answer), error, JSON.stringify(parts))
      const challenge = parts.headers === wrong ? 'Basic realm="connbook"' : undefined
      assert.equal(answer.headers['www-authenticate'], challenge)
    }
    assert.equal(await isGood(headers), true)
    assert.equal(
      (await ask('POST', path, { headers: { ...basic, Origin: 'http://evil' }, body: { token } })).status,
      403,
    )
    assert.equal(await isGood(headers), true)
  })

  it('is recorded in the audit trail', async (t) => {
    const other = await folderWithReaders(t)
    const { url } = await start(t, { folder: other, environment: {} })
    const headers = await getToken(url, client)
    const body = { ...client, token: headers.Authorization.slice('Bearer '.length) }
    const requestId = { 'X-Request-Id': 'r1' }
    const added = await addedBy(other, () => createClient(url)('POST', path, { headers: requestId, body }))
    assert.deepEqual(added, [
      { event: 'logged_out', address: '127.0.0.1', request_id: 'r1', kind: 'client', account: 'script' },
    ])
  })

  it('by many calls of one client is only counted', async () => {
    const tokens = await Promise.all(Array.from({ length: SUCCESSES_LISTED.pairMax + 5 }, () => newToken()))
    const lines = await addedBy(folder, async () => {
      for (const { token } of tokens) await ask('POST', path, { body: { ...client, token } })
    })
    for (const { event, kind, account } of lines) {
      assert.deepEqual([event, kind, account], ['logged_out', 'client', client.client_id])
    }
    assert.ok(lines.length <= SUCCESSES_LISTED.pairMax, String(lines.length))
  })
})

describe('a revoked token', () => {
  it('stays so after a restart, and a wrong secret counts as one at the token endpoint', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const folder = await folderWithReaders(t)
    const first = await start(t, { folder, environment: {} })
    const headers = await getToken(first.url, client)
    const token = headers.Authorization.slice('Bearer '.length)
    await createClient(first.url)('POST', path, { body: { ...client, token } })
    await first.stop()
    const second = await start(t, { folder, environment: {} })
    const ask = createClient(second.url)
    assert.equal((await ask('GET', '/configurations/', { headers })).status, 403)
    for (let i = 0; i < FREE_FAILURES; i++) {
      await ask('POST', path, { body: { ...client, client_secret: 'wrong', token } })
    }
    const throttled = await ask('POST', '/v1/auth/token', { body: client })
    assert.deepEqual(errorOf(throttled), [429, 'temporarily_unavailable'])
    assert.equal((await ask('POST', path, { body: { ...client, token } })).status, 429)
  })
})
