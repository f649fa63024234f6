import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX } from '../../src/auth/password.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { type Answer, createClient, type Headers } from '../support/http-client.ts'
import { holdArgon2 } from '../support/light-argon2.ts'
import { folderWithReaders, readingClient } from '../support/readers.ts'
import { admin, client, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { startedFolder } from '../support/started-folder.ts'
import type { Lifetime } from '../support/temporary-folder.ts'

// Contains every character that clients encode in different ways.
const id = 'my-client_1'
const secret = 's3c+r%t/=:~x é'
const path = '/v1/auth/token'
const formType = 'application/x-www-form-urlencoded'
const json = { client_id: id, client_secret: secret }
const form = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString()
const basic = (name: string, password: string) =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
const formEncode = (text: string) => form({ '': text }).slice(1)

interface Case {
  readonly headers?: Headers
  readonly body?: unknown
}

const formCase = (body: string, type = formType): Case => ({ headers: { 'Content-Type': type }, body })
const basicCase = (authorization: string, body?: string): Case => {
  return { headers: { Authorization: authorization, ...(body ? { 'Content-Type': formType } : {}) }, body }
}

/** Starts a service with the client above. */
async function startWith(
  t: Lifetime,
  { clientSecret = secret, flags = [] }: { clientSecret?: string; flags?: string[] } = {},
) {
  const user = { name: admin.username, secret: admin.password }
  const folder = await startedFolder(t, user, { name: id, secret: clientSecret })
  return start(t, { folder, flags, environment: {} })
}

function assertOAuthError(answer: Answer, status: number, error: string) {
  assert.equal(answer.status, status)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const body = answer.json<Record<string, string>>()
  assert.deepEqual(Object.keys(body), ['error', 'error_description'])
  assert.equal(body.error, error)
  // RFC 6749 section 5.2 allows only these characters.
  assert.match(body.error_description ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
}

describe('POST /v1/auth/token', async () => {
  const service = await startWith({ after })
  const ask = createClient(service.url)

  const granted: Record<string, Case> = {
    'the JSON of the interface': { body: json },
    'JSON with a grant_type': { body: { ...json, grant_type: 'client_credentials' } },
    'JSON with unknown members': { body: { ...json, audience: ['y'], resource: 1 } },
    'JSON with an empty scope': { body: { ...json, scope: '' } },
    'JSON without a type': { body: JSON.stringify(json) },
    'JSON as text': { headers: { 'Content-Type': 'text/plain' }, body: JSON.stringify(json) },
    'JSON under the type of a form': formCase(` \n${JSON.stringify(json)}`),
    'JSON with a repeated member, of which the last counts': {
      body: `{"client_id":"x",${JSON.stringify(json).slice(1)}`,
    },
    'a form': formCase(form(json)),
    'a form with a charset': formCase(form(json), `${formType};charset=UTF-8`),
    'a form with its type in capitals': formCase(form(json), formType.toUpperCase()),
    'a form with a grant_type and unknown parameters': formCase(
      form({ ...json, grant_type: 'client_credentials', scope: '', audience: 'x' }),
    ),
    'Basic as it is': basicCase(basic(id, secret), 'grant_type=client_credentials'),
    'Basic, form-encoded': basicCase(basic(id, formEncode(secret)), 'grant_type=client_credentials'),
    'Basic, percent-encoded throughout': basicCase(
      basic('my%2Dclient%5F1', encodeURIComponent(secret)),
      'grant_type=client_credentials',
    ),
    'Basic with its scheme in small letters': basicCase(basic(id, secret).replace('Basic', 'basic')),
    'Basic and no body': basicCase(basic(id, secret)),
    'Basic and the same client_id': basicCase(basic(id, secret), form({ client_id: id })),
    'Basic and JSON': {
      headers: { Authorization: basic(id, secret) },
      body: { grant_type: 'client_credentials' },
    },
    'a header that is no client authentication': { headers: { Authorization: 'Bearer x' }, body: json },
  }
  for (const [name, parts] of Object.entries(granted)) {
    it(`accepts ${name}`, async () => {
      const answer = await ask('POST', path, parts)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['set-cookie'], undefined)
      const { access_token, ...rest } = answer.json<{ access_token: string }>()
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 3600, scope: 'read write' })
      assert.deepEqual(Object.keys(answer.json<object>()), [
        'access_token',
        'token_type',
        'expires_in',
        'scope',
      ])
      const headers = { Authorization: `Bearer ${access_token}` }
      assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
    })
  }

  const refused: Record<string, [error: string, parts: Case]> = {
    'no body': ['invalid_request', {}],
    'an empty object': ['invalid_request', { body: {} }],
    'no client_id': ['invalid_request', { body: { client_secret: secret } }],
    'no client_secret': ['invalid_request', { body: { client_id: id } }],
    'a null': ['invalid_request', { body: { ...json, client_secret: null } }],
    'a number': ['invalid_request', { body: { ...json, client_id: 1 } }],
    'an inherited secret': [
      'invalid_request',
      { body: `{"client_id":"x","__proto__":${JSON.stringify(json)}}` },
    ],
    'an array': ['invalid_request', { body: [json] }],
    'bad JSON': [
      'invalid_request',
      { headers: { 'Content-Type': 'application/json' }, body: '{"client_id":' },
    ],
    'bad UTF-8': ['invalid_request', { body: Buffer.from('{"client_id":"\xff"}', 'latin1') }],
    'a form without a secret': ['invalid_request', formCase(form({ client_id: id }))],
    'a form with an empty secret': ['invalid_request', formCase(`client_id=${id}&client_secret=`)],
    'a form of bad UTF-8': ['invalid_request', formCase('client_id=%ff&client_secret=x')],
    'a parameter twice': ['invalid_request', formCase(`${form(json)}&client_id=${id}`)],
    'an unknown parameter twice': ['invalid_request', formCase(`${form(json)}&audience=a&audience=b`)],
    'a scope twice': ['invalid_request', formCase(`${form(json)}&scope=read&scope=read`)],
    'a scope twice, once empty': ['invalid_request', formCase(`${form(json)}&scope=read&scope=`)],
    'a scope twice beside Basic': ['invalid_request', basicCase(basic(id, secret), 'scope=read&scope=write')],
    'a scope that is a list': ['invalid_request', { body: { ...json, scope: ['read'] } }],
    'a scope that is null': ['invalid_request', { body: { ...json, scope: null } }],
    'an unknown scope': ['invalid_scope', { body: { ...json, scope: 'admin' } }],
    'an unknown scope beside a known one': [
      'invalid_scope',
      formCase(form({ ...json, scope: 'read admin' })),
    ],
    'an unknown scope beside Basic': ['invalid_scope', basicCase(basic(id, secret), 'scope=openid')],
    'a scope in capitals': ['invalid_scope', { body: { ...json, scope: 'READ' } }],
    'a scope of spaces': ['invalid_scope', formCase(`${form(json)}&scope=+`)],
    'scopes with two spaces between': ['invalid_scope', formCase(`${form(json)}&scope=read++write`)],
    'scopes with a comma between': ['invalid_scope', { body: { ...json, scope: 'read,write' } }],
    'Basic and a client_secret': [
      'invalid_request',
      basicCase(basic(id, secret), form({ client_secret: secret })),
    ],
    'Basic and another client_id': [
      'invalid_request',
      basicCase(basic(id, secret), form({ client_id: 'x' })),
    ],
    'Basic without a colon': ['invalid_request', basicCase(`Basic ${Buffer.from(id).toString('base64')}`)],
    'Basic that is no base64': ['invalid_request', basicCase('Basic ***')],
    'Basic of bad UTF-8': ['invalid_request', basicCase('Basic /zr/')],
    'Basic and nothing': ['invalid_request', basicCase('Basic')],
    'another grant': ['unsupported_grant_type', { body: { ...json, grant_type: 'password' } }],
    'another grant in a form': [
      'unsupported_grant_type',
      formCase(form({ ...json, grant_type: 'refresh_token' })),
    ],
    'a grant in capitals': [
      'unsupported_grant_type',
      { body: { ...json, grant_type: 'CLIENT_CREDENTIALS' } },
    ],
  }
  for (const [name, [error, parts]] of Object.entries(refused)) {
    it(`answers 400 ${error} to ${name}`, async () =>
      assertOAuthError(await ask('POST', path, parts), 400, error))
  }

  const strangers: Record<string, Case> = {
    'a wrong secret': { body: { ...json, client_secret: 'x' } },
    'an unknown client': { body: { ...json, client_id: 'x' } },
    'a user': { body: { client_id: 'admin', client_secret: admin.password } },
    'a secret that is encoded although it is JSON': {
      body: { ...json, client_secret: encodeURIComponent(secret) },
    },
    'a wrong secret in a form': formCase(form({ ...json, client_secret: 'x' })),
    'a wrong secret in Basic': basicCase(basic(id, 'x')),
    'a secret in Basic that is encoded twice': basicCase(basic(id, formEncode(formEncode(secret)))),
    'an unknown client in Basic': basicCase(basic('x', secret)),
  }
  for (const [name, parts] of Object.entries(strangers)) {
    it(`answers 401 to ${name}`, async () => {
      const answer = await ask('POST', path, parts)
      assertOAuthError(answer, 401, 'invalid_client')
      const isBasic = parts.headers?.Authorization !== undefined
      assert.equal(answer.headers['www-authenticate'], isBasic ? 'Basic realm="connbook"' : undefined)
    })
  }

  it('answers 413 and 415 in the same form', async () => {
    assertOAuthError(
      await ask('POST', path, { body: 'x'.repeat(BODY_BYTES_MAX + 1) }),
      413,
      'invalid_request',
    )
    const types = ['text/xml', 'application/json; charset=utf-16', `${formType}; charset=iso-8859-1`]
    for (const type of types) {
      assertOAuthError(await ask('POST', path, formCase(form(json), type)), 415, 'invalid_request')
    }
    const zipped = { headers: { 'Content-Encoding': 'gzip' }, body: json }
    assertOAuthError(await ask('POST', path, zipped), 415, 'invalid_request')
    for (const parts of [{ body: form(json) }, formCase('{"client_id":')]) {
      assertOAuthError(await ask('POST', path, parts), 415, 'invalid_request')
    }
  })

  it('accepts no other method', async () => {
    assert.equal((await ask('GET', path)).status, 403)
    const answer = await ask('GET', path, { headers: { Cookie: await service.cookie() } })
    assert.equal(answer.status, 405)
    assert.equal(answer.headers.allow, 'POST, OPTIONS')
  })
})

describe('the scope of a token', async () => {
  const service = await start({ after }, { folder: await folderWithReaders({ after }) })
  const ask = createClient(service.url)
  const authorization = ({ client_id, client_secret }: typeof client) => basic(client_id, client_secret)
  const ways: Record<string, (credentials: typeof client, asked: Record<string, string>) => Case> = {
    JSON: (credentials, asked) => ({ body: { ...credentials, ...asked } }),
    'a form': (credentials, asked) => formCase(form({ ...credentials, ...asked })),
    'Basic and a form': (credentials, asked) =>
      basicCase(authorization(credentials), form({ grant_type: 'client_credentials', ...asked })),
    'Basic and JSON': (credentials, asked) => ({
      headers: { Authorization: authorization(credentials) },
      body: asked,
    }),
  }
  const none: Record<string, string> = {}
  const given: [who: string, typeof client, asked: Record<string, string>, scope: string][] = [
    ['a read-write client', client, none, 'read write'],
    ['a read-write client', client, { scope: '' }, 'read write'],
    ['a read-write client', client, { scope: 'read write' }, 'read write'],
    ['a read-write client', client, { scope: 'write read' }, 'read write'],
    ['a read-write client', client, { scope: 'write' }, 'read write'],
    ['a read-write client', client, { scope: 'read' }, 'read'],
    ['a read-write client', client, { scope: 'read read' }, 'read'],
    ['a read-only client', readingClient, none, 'read'],
    ['a read-only client', readingClient, { scope: '' }, 'read'],
    ['a read-only client', readingClient, { scope: 'read' }, 'read'],
  ]
  for (const [way, write] of Object.entries(ways)) {
    for (const [who, credentials, asked, scope] of given) {
      it(`is "${scope}" for ${who} that sends ${JSON.stringify(asked)} as ${way}`, async () => {
        const answer = await ask('POST', path, write(credentials, asked))
        assert.equal(answer.status, 200, answer.text)
        const token = answer.json<{ scope: string; access_token: string }>()
        assert.equal(token.scope, scope)
        const headers = { Authorization: `Bearer ${token.access_token}` }
        assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
        const written = await ask('PATCH', '/configurations/none', { headers, body: {} })
        assert.equal(written.status, scope === 'read' ? 403 : 404)
      })
    }

    for (const scope of ['write', 'read write', 'write read']) {
      it(`is never "${scope}" for a read-only client as ${way}: 400 invalid_scope`, async () => {
        const answer = await ask('POST', path, write(readingClient, { scope }))
        assertOAuthError(answer, 400, 'invalid_scope')
      })

      it(`does not reveal to a wrong secret that a client is read-only: ${scope} as ${way}`, async () => {
        const wrong = { ...readingClient, client_secret: 'x' }
        assertOAuthError(await ask('POST', path, write(wrong, { scope })), 401, 'invalid_client')
        // A success resets the failures, so that the client is not paused.
        await ask('POST', path, write(readingClient, {}))
      })
    }
  }

  it('that was refused is logged as refused, not as a token issued', async () => {
    const events = () => service.log.events
    const before = events().length
    await ask('POST', path, { body: { ...readingClient, scope: 'write' } })
    assert.deepEqual(events().slice(before), ['token_scope_refused'])
  })
})

describe('a token', () => {
  it('is issued for a secret in Basic that could also be read as encoded', async (t) => {
    const ambiguous = 'a+b%41'
    const service = await startWith(t, { clientSecret: ambiguous })
    const ask = createClient(service.url)
    const statuses: number[] = []
    for (const spelling of [ambiguous, formEncode(ambiguous), 'a bA']) {
      statuses.push((await ask('POST', path, basicCase(basic(id, spelling)))).status)
    }
    assert.deepEqual(statuses, [200, 200, 401])
  })

  it('lives as long as --token-ttl says', async (t) => {
    const ask = createClient((await startWith(t, { flags: ['--token-ttl', '90s'] })).url)
    assert.equal((await ask('POST', path, { body: json })).json<{ expires_in: number }>().expires_in, 90)
  })

  it('is refused for a while after too many failures, 429 with Retry-After', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const ask = createClient((await startWith(t)).url)
    const body = { ...json, client_secret: 'x' }
    for (let i = 0; i < FREE_FAILURES; i++) assert.equal((await ask('POST', path, { body })).status, 401)
    const answer = await ask('POST', path, { body: json })
    assertOAuthError(answer, 429, 'temporarily_unavailable')
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
  })

  it('is refused in a flood, 503 with Retry-After', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const ask = createClient((await startWith(t)).url)
    const release = holdArgon2(t)
    const flood = Array.from({ length: PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX + 20 }, (_, i) =>
      ask('POST', path, { body: { ...json, client_id: `client ${i}` } }),
    )
    assertOAuthError(await Promise.race(flood), 503, 'temporarily_unavailable')
    release()
    const putOff = (await Promise.all(flood)).filter(({ status }) => status !== 401)
    assert.ok(putOff.length > 0 && putOff.length < flood.length)
    for (const answer of putOff) {
      assertOAuthError(answer, 503, 'temporarily_unavailable')
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
    }
  })
})
