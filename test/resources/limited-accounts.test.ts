import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { exportFormatNames } from '../../src/exchange/export-formats.ts'
import { routes } from '../../src/resources/routes.ts'
import { getToken } from '../support/api.ts'
import { readEvents } from '../support/event-reader.ts'
import { type Answer, type Ask, createClient, namesIn, type Parts } from '../support/http-client.ts'
import { draft } from '../support/store.ts'
import { administered, problemIn } from './administrators.ts'

/** Words of records that no limited account sees; each is nowhere else. */
const words = ['quokka', 'numbat', 'wombat', 'bilby', 'dunnart', 'potoroo', 'bettong']
const hidden = draft('hidden/quokka', {
  hostname: 'numbat.example',
  username: 'wombat',
  labels: { dunnart: 'bilby', team: 'hidden', private: 'x', 'ssh.proxyjump': 'a/one' },
})

/** Kinds of limits. Each sees `a/one` and `a/two`, and may at most change these. */
const limits = {
  'by prefix, to read': { scope: 'read', grants: ['read?prefix=a%2F'] },
  'by prefix, to write': { scope: 'write', grants: ['write?prefix=a%2F'] },
  'by label, to write': { scope: 'write', grants: ['write?label=team=a'] },
  'by both': { scope: 'write', grants: ['write?prefix=a%2F&label=team=a'] },
  'by several': { scope: 'write', grants: ['read?label=team=a', 'write?prefix=a%2F', 'read?prefix=b'] },
  'by a label that is not there': { scope: 'write', grants: ['write?label=!private'] },
} as const

/** A call, and what a limited account with the scope `write` gets. */
interface Call {
  readonly path: string
  readonly status: number | readonly number[]
  readonly code?: string
  readonly parts?: Parts
}

const hiddenPath = `/configurations/${encodeURIComponent(hidden.name)}`
const notGranted = { status: 403, code: 'not_granted' } as const
const noAdmin = [{ path: '/v1/users/', status: 403, code: 'insufficient_scope' }] as const
const [query, ofHidden] = ['label=team', 'q=numbat']
const foreign = { ...draft('x'), name: 'hidden/new', labels: { dunnart: 'x', private: 'x' } }

/** What is tried of each route. A route that is not here fails the test. */
const table: Readonly<Record<string, readonly Call[]>> = {
  'GET /configurations/': [
    ...[
      '',
      query,
      ofHidden,
      'sort=name',
      'sort=-name&page=0&per_page=5',
      'sort=hostname',
      'name=hidden%2Fquokka',
    ],
    ...['prefix=hidden', 'label=dunnart', 'id=1,2,3,4,5,6', 'page=3&per_page=1', 'hostname=numbat.example'],
  ].map((more) => ({ path: `/configurations/?${more}`, status: 200 })),
  'POST /configurations/': [
    { path: '/configurations/', ...notGranted, parts: { body: foreign } },
    { path: '/configurations/', ...notGranted, parts: { body: hidden } },
  ],
  'GET /configurations/:name': [
    { path: hiddenPath, status: 404, code: 'unknown_name' },
    { path: '/configurations/a%2Fone', status: 200 },
  ],
  'PUT /configurations/:name': [
    { path: hiddenPath, ...notGranted, parts: { body: draft(hidden.name) } },
    { path: hiddenPath, ...notGranted, parts: { body: hidden, headers: { 'If-None-Match': '*' } } },
    { path: '/configurations/hidden%2Fnew', ...notGranted, parts: { body: foreign } },
  ],
  'PATCH /configurations/:name': [
    { path: hiddenPath, status: 404, code: 'unknown_name', parts: { body: { port: 1 } } },
    {
      path: hiddenPath,
      status: 404,
      code: 'unknown_name',
      parts: { body: {}, headers: { 'If-Match': '"x"' } },
    },
    {
      path: '/configurations/a%2Fone',
      ...notGranted,
      parts: { body: { name: hidden.name, labels: { dunnart: 'x', private: 'x', team: null } } },
    },
  ],
  'DELETE /configurations/:name': [
    { path: hiddenPath, status: 404, code: 'unknown_name' },
    { path: hiddenPath, status: 404, code: 'unknown_name', parts: { headers: { 'If-Match': '"x"' } } },
  ],
  'PATCH /configurations/': [
    { path: '/configurations/?q=numbat', status: 200, parts: { body: { port: 1 } } },
    {
      path: '/configurations/?all=1&dry_run=1',
      status: [200, 403],
      parts: { body: { username: 'someone' } },
    },
    {
      path: '/configurations/?q=a%2Fone&dry_run=1',
      status: [200, 403],
      parts: { body: { labels: { private: 'x', team: null } } },
    },
  ],
  'DELETE /configurations/': [
    { path: '/configurations/?q=numbat', status: 200 },
    { path: '/configurations/?label=dunnart', status: 200 },
    { path: '/configurations/?all=1&dry_run=1', status: [200, 403] },
  ],
  'GET /v1/labels': ['', query, ofHidden].map((more) => ({ path: `/v1/labels?${more}`, status: 200 })),
  'GET /v1/events': [{ path: '/v1/events?since=none', status: 400 }],
  'GET /v1/history': ['', query, ofHidden, 'limit=1', 'since=1d', 'by=admin', 'by=eve'].map((more) => ({
    path: `/v1/history?${more}`,
    status: 200,
  })),
  'GET /v1/history/:name': [
    { path: '/v1/history/a%2Fone', status: 200 },
    { path: `/v1/history/${encodeURIComponent(hidden.name)}`, status: 404, code: 'unknown_name' },
    { path: '/v1/history/hidden%2Fpotoroo', status: 404, code: 'unknown_name' },
  ],
  'GET /v1/export': exportFormatNames.flatMap((format) =>
    ['', `&${query}`, `&${ofHidden}`].map((more) => ({
      path: `/v1/export?format=${format}&skip=1${more}`,
      status: 200,
    })),
  ),
  'POST /v1/import': [
    { path: '/v1/import', status: 400, parts: { body: [draft(hidden.name, { port: 1 })] } },
    { path: '/v1/import', status: 400, parts: { body: [hidden] } },
    { path: '/v1/import?dry_run=1', status: 400, parts: { body: [foreign] } },
    { path: '/v1/import?mode=replace&dry_run=1', status: [200, 400], parts: { body: [] } },
  ],
  'GET /metrics': [{ path: '/metrics', ...notGranted }],
  'GET /v1/status': [{ path: '/v1/status', ...notGranted }],
  'GET /v1/whoami': [{ path: '/v1/whoami', status: 200 }],
  'GET /openapi.json': [{ path: '/openapi.json', status: 200 }],
  'POST /v1/password': [
    {
      path: '/v1/password',
      status: 403,
      code: 'session_required',
      parts: { body: { password: 'x', new_password: 'y' } },
    },
  ],
  ...Object.fromEntries(
    ['users', 'clients'].flatMap((kind) =>
      ['GET', 'POST'].map((method) => [
        `${method} /v1/${kind}/`,
        noAdmin.map((call) => ({ ...call, path: `/v1/${kind}/` })),
      ]),
    ),
  ),
  ...Object.fromEntries(
    ['users', 'clients'].flatMap((kind) =>
      ['GET', 'PATCH', 'DELETE'].map((method) => [
        `${method} /v1/${kind}/:account`,
        noAdmin.map((call) => ({ ...call, path: `/v1/${kind}/admin` })),
      ]),
    ),
  ),
  'POST /login': [{ path: '/login', status: 400, parts: { body: {} } }],
  'POST /v1/auth/token': [{ path: '/v1/auth/token', status: 400, parts: { body: {} } }],
  'POST /v1/auth/revoke': [{ path: '/v1/auth/revoke', status: [400, 401], parts: { body: {} } }],
  'GET /.well-known/oauth-authorization-server': [
    { path: '/.well-known/oauth-authorization-server', status: 200 },
  ],
  'GET /healthz': [{ path: '/healthz', status: 200 }],
  'GET /readyz': [{ path: '/readyz', status: 200 }],
  'GET /console/': [{ path: '/console/', status: 200 }],
  'GET /console/:file': [{ path: '/console/none', status: 404 }],
  // The last, because it ends the token.
  'POST /logout': [{ path: '/logout', status: 200 }],
}

/** A server with records that limited accounts see, and others, whose changes they must not see either. */
async function open(t: TestContext) {
  const { ask, url } = await administered(t)
  const change: Ask = async (method, path, parts) => {
    const answer = await ask(method, path, parts)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const labels = { team: 'a' }
  for (const one of [
    draft('a/one', { labels }),
    draft('a/two', { labels }),
    hidden,
    draft('hidden/potoroo', { labels: { dunnart: 'bettong', private: 'x' } }),
  ])
    await change('POST', '/configurations/', { body: one })
  await change('PATCH', hiddenPath, { body: { port: 23, labels: { dunnart: 'bettong', private: 'x' } } })
  await change('PATCH', hiddenPath, { body: { labels: { dunnart: 'bilby' } } })
  await change('DELETE', '/configurations/hidden%2Fpotoroo')
  await change('POST', '/v1/import', {
    body: [draft('hidden/potoroo', { labels: { dunnart: 'bettong', private: 'x' } })],
  })
  const limitedBy = async ({ scope, grants }: (typeof limits)[keyof typeof limits]) => {
    const made = await change('POST', '/v1/clients/', { body: { name: 'limited', scope, grants } })
    const { accounts } = made.json<{ accounts: { secret: string }[] }>()
    const headers = await getToken(url, { client_id: 'limited', client_secret: accounts[0]?.secret })
    return { headers, askLimited: createClient(url, headers) }
  }
  return { ask, change, url, limitedBy }
}

function assertNothingOf(text: string, where: string, sent = '') {
  for (const word of words)
    if (!sent.includes(word)) assert.ok(!text.includes(word), `${where} has "${word}": ${text}`)
}

function bytesOf({ headers, text }: Answer): string {
  return `${JSON.stringify(headers)} ${text}`
}

describe('a limited account', () => {
  it('is expected at every route', () => {
    const all = routes.map(({ method, path }) => `${method} ${path}`)
    assert.deepEqual(Object.keys(table).sort(), all.sort())
    for (const { method, path, limits: kind } of routes)
      if (kind === 'refused')
        assert.deepEqual(
          table[`${method} ${path}`]?.map(({ code }) => code),
          ['not_granted'],
        )
  })

  for (const [kind, limit] of Object.entries(limits)) {
    it(`gets nothing of other records, and changes none: ${kind}`, async (t) => {
      const { ask, limitedBy } = await open(t)
      const { askLimited } = await limitedBy(limit)
      const before = (await ask('GET', '/configurations/')).text
      for (const [route, calls] of Object.entries(table)) {
        const [method = ''] = route.split(' ')
        for (const { path, status, code, parts } of calls) {
          const answer = await askLimited(method, path, parts)
          const where = `${method} ${path}`
          const sent = path + JSON.stringify(parts?.body ?? '')
          assertNothingOf(bytesOf(answer), where, sent)
          const access = routes.find((one) => `${one.method} ${one.path}` === route)?.access
          if (limit.scope === 'read' && access === 'write')
            assert.deepEqual(problemIn(answer), [403, 'insufficient_scope'], where)
          else {
            assert.ok([status].flat().includes(answer.status), `${where}: ${answer.status} ${answer.text}`)
            if (code !== undefined) assert.deepEqual(problemIn(answer), [answer.status, code], where)
          }
        }
      }
      assert.equal((await ask('GET', '/configurations/')).text, before)
    })

    it(`gets what comes into sight, and what goes: ${kind}`, async (t) => {
      const { change, url, limitedBy } = await open(t)
      const { headers, askLimited } = await limitedBy(limit)
      const list = await askLimited('GET', '/configurations/')
      const tag = String(list.headers.etag).slice(1, -1)
      const reader = await readEvents(t, url, headers, `/v1/events?since=${tag}`)
      const labels = { team: 'a' }
      await change('PATCH', hiddenPath, { body: { hostname: 'potoroo.example' } })
      const seen = {
        ...draft('a/new'),
        labels: { team: 'a', dunnart: null, private: null, 'ssh.proxyjump': null },
        hostname: 'seen',
      }
      await change('PATCH', hiddenPath, { body: { ...seen, username: 'shown' } })
      await change('PATCH', '/configurations/a%2Fnew', { body: { port: 99 } })
      await change('PATCH', '/configurations/a%2Fnew', {
        body: {
          name: hidden.name,
          hostname: 'numbat',
          labels: { team: 'hidden', dunnart: 'bilby', private: 'x' },
        },
      })
      await change('POST', '/v1/import', {
        body: [
          draft('a/three', { labels }),
          draft('hidden/bettong', { labels: { dunnart: 'x', private: 'x' } }),
        ],
      })
      const events = await reader.take(4)
      assert.deepEqual(
        events.map(({ event, data }) => [event, data.configuration?.name, data.configuration?.port]),
        [
          ['added', 'a/new', 22],
          ['modified', 'a/new', 99],
          ['removed', 'a/new', 99],
          ['added', 'a/three', 22],
        ],
      )
      assertNothingOf(reader.text(), 'the stream')
      const now = await askLimited('GET', '/configurations/')
      // The last event that is sent for an import has the tag.
      assert.equal(`"${events.at(-1)?.id}"`, now.headers.etag)
      assert.deepEqual(namesIn(now), ['a/one', 'a/two', 'a/three'])
      const history = await askLimited('GET', '/v1/history')
      assertNothingOf(history.text, 'the history')
      const entries = history.json<{ history: { event: string; name: string }[] }>().history
      assert.deepEqual(
        entries.slice(0, 4).map(({ event, name }) => `${event} ${name}`),
        [
          'configuration_added a/three',
          'configuration_deleted a/new',
          'configuration_modified a/new',
          'configuration_added a/new',
        ],
      )
      const ofOne = await askLimited('GET', '/v1/history/a%2Fnew')
      assertNothingOf(ofOne.text, 'the history of a record')
      assert.deepEqual(ofOne.json<{ history: object[] }>().history, entries.slice(1, 4))
      assert.equal((await askLimited('GET', `/v1/history/${encodeURIComponent(hidden.name)}`)).status, 404)
    })
  }

  it('changes what it may, and nothing else', async (t) => {
    const { ask, change, limitedBy } = await open(t)
    const grants = ['write?prefix=a%2F', 'read?prefix=b%2F'] as const
    const { askLimited } = await limitedBy({ scope: 'write', grants } as never)
    await change('POST', '/configurations/', { body: draft('b/one') })
    const codes: [string, string, Parts, number, string?][] = [
      ['POST', '/configurations/', { body: draft('a/new') }, 200],
      ['PATCH', '/configurations/a%2Fnew', { body: { port: 1 } }, 200],
      ['PUT', '/configurations/a%2Fput', { body: draft('a/put') }, 201],
      ['PATCH', '/configurations/a%2Fnew', { body: { name: 'b/new' } }, 403, 'not_granted'],
      ['PATCH', '/configurations/b%2Fone', { body: { name: 'a/b' } }, 403, 'not_granted'],
      ['PATCH', '/configurations/b%2Fone', { body: {} }, 403, 'not_granted'],
      ['DELETE', '/configurations/b%2Fone', { headers: { 'If-Match': '"stale"' } }, 403, 'not_granted'],
      ['PATCH', '/configurations/a%2Fnew', { body: { port: 2 }, headers: { 'If-Match': '"stale"' } }, 412],
      ['PATCH', '/configurations/?prefix=b', { body: { port: 3 } }, 403, 'not_granted'],
      ['PATCH', '/configurations/?prefix=a', { body: { port: 3 } }, 200],
      ['DELETE', '/configurations/a%2Fput', {}, 209],
      ['POST', '/v1/import?mode=replace', { body: [draft('a/new', { port: 4 })] }, 200],
    ]
    for (const [method, path, parts, status, code] of codes) {
      const answer = await askLimited(method, path, parts)
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
      if (code !== undefined) assert.deepEqual(problemIn(answer), [status, code])
    }
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), [
      'hidden/quokka',
      'hidden/potoroo',
      'b/one',
      'a/new',
    ])
    const refused = await askLimited('PATCH', '/configurations/?prefix=b', { body: { port: 3 } })
    assert.equal(refused.headers['www-authenticate'], 'Bearer realm="connbook"')
    const { detail, errors } = refused.json<{ detail: string; errors: object[] }>()
    assert.match(detail, /^This account may change only records whose name begins with "a\/"; nothing/)
    assert.deepEqual(errors, [
      { field: 'name', detail: 'is not one that this account may change so', name: 'b/one' },
    ])
  })

  it('learns of a taken name only that it is taken, and of an import each line', async (t) => {
    const { askLimited } = await open(t).then(({ limitedBy }) =>
      limitedBy({ scope: 'write', grants: ['write?label=team=a'] }),
    )
    const labels = { team: 'a' }
    const taken = await askLimited('POST', '/configurations/', { body: draft(hidden.name, { labels }) })
    assert.deepEqual([taken.status, taken.text], [409, '{"configurations":[]}'])
    const renamed = await askLimited('PATCH', '/configurations/a%2Fone', { body: { name: hidden.name } })
    assert.deepEqual([renamed.status, renamed.text], [409, '{"configurations":[]}'])
    const lines = [draft('n1', { labels }), draft(hidden.name, { labels }), draft('n2')]
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    const answer = await askLimited('POST', '/v1/import?format=jsonl', { body })
    const detail = 'is not one that this account may add or change so'
    assert.deepEqual(answer.json<{ errors: object[] }>().errors, [
      { line: 2, field: 'name', detail, name: hidden.name },
      { line: 3, field: 'name', detail, name: 'n2' },
    ])
    assert.deepEqual(namesIn(await askLimited('GET', '/configurations/')), ['a/one', 'a/two'])
  })

  it('has other streams and tags as soon as its grants change', async (t) => {
    const { change, url, limitedBy } = await open(t)
    const { headers, askLimited } = await limitedBy(limits['by prefix, to read'])
    const list = await askLimited('GET', '/configurations/')
    const tag = String(list.headers.etag)
    const reader = await readEvents(t, url, headers)
    const waiting = askLimited('GET', '/configurations/', {
      headers: { 'If-None-Match': tag, Prefer: 'wait=50' },
    })
    await change('PATCH', '/v1/clients/limited', { body: { grants: ['read?prefix=b'] } })
    await reader.ended
    const later = await waiting
    assert.deepEqual([later.status, later.text], [200, '{"configurations":[]}'])
    const other = await askLimited('GET', '/configurations/', { headers: { 'If-None-Match': tag } })
    assert.equal(other.status, 200)
    const again = await readEvents(t, url, headers, `/v1/events?since=${tag.slice(1, -1)}`)
    const [reset] = await again.take(1)
    assert.equal(reset?.event, 'reset')
    await change('PATCH', '/v1/clients/limited', { body: { grants: null } })
    await again.ended
    assert.equal(namesIn(await askLimited('GET', '/configurations/')).length, 4)
  })
})
