import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  Api,
  explain,
  isAborted,
  Refusal,
  retryAfterOf,
  tagIn,
  Unreachable,
  type Upload,
} from '../../src/console/api.ts'

const base = new URL('https://connbook.example.net/base/')

interface Reply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly text?: string
}

function problem(status: number, code: string, more: Record<string, string> = {}, headers = {}): Reply {
  return {
    status,
    headers: { 'Content-Type': 'application/problem+json', ...headers },
    text: JSON.stringify({ type: `urn:connbook:problem:${code}`, detail: 'No', ...more }),
  }
}

function refusalOf({ status, headers = {}, text = '' }: Reply): Refusal {
  return new Refusal({ status, headers: new Headers(headers), text })
}

/** An API whose calls get these answers in turn, and none after the last. */
function setUp(t: TestContext, replies: Reply[], logIn = async () => {}) {
  const calls: { url: string; method: string | undefined; body: unknown; type: string | null }[] = []
  const reached: boolean[] = []
  t.mock.method(globalThis, 'fetch', async (url: string, { method, headers, body, signal }: RequestInit) => {
    calls.push({ url, method, body, type: new Headers(headers).get('Content-Type') })
    signal?.throwIfAborted()
    const reply = replies.shift()
    if (reply === undefined) throw new TypeError('fetch failed')
    return new Response(reply.text ?? null, reply)
  })
  let logins = 0
  const shown: { login: Promise<void> | undefined } = { login: undefined }
  const events = {
    login: () => shown.login,
    async logIn() {
      logins += 1
      await logIn()
    },
    reached: (isReached: boolean) => void reached.push(isReached),
  }
  const uploads: Upload[] = []
  const api = new Api(base, events, async (_url, upload) => {
    uploads.push(upload)
    return { status: 200, headers: new Headers(), text: 'uploaded' }
  })
  return { api, calls, reached, uploads, shown, logins: () => logins }
}

describe('a call of the console', () => {
  it('goes below the address of the page, and sends JSON as such', async (t) => {
    const { api, calls, reached } = setUp(t, [{ status: 200, text: 'read' }, { status: 201 }])
    assert.equal((await api.call('configurations/?q=a')).text, 'read')
    await api.call('configurations/', { method: 'POST', json: { name: 'a' } })
    assert.deepEqual(calls, [
      { url: `${base}configurations/?q=a`, method: 'GET', body: null, type: null },
      { url: `${base}configurations/`, method: 'POST', body: '{"name":"a"}', type: 'application/json' },
    ])
    assert.deepEqual(reached, [true, true])
  })

  it('that the server refuses throws its problem, but not for a status that is an answer, too', async (t) => {
    const stale = problem(412, 'stale_record', {}, { 'Retry-After': '3' })
    const { api, logins } = setUp(t, [stale, { status: 304 }, { status: 304 }])
    await assert.rejects(api.call('x'), (error) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.status, error.code, error.retryAfterSeconds], [412, 'stale_record', 3])
      return true
    })
    assert.equal((await api.call('x', { expects: [304] })).status, 304)
    await assert.rejects(api.call('x'), Refusal)
    assert.equal(logins(), 0)
  })

  it('is made again after a login when the session has ended, but not when the account may not', async (t) => {
    const replies = [
      problem(403, 'not_authenticated'),
      problem(403, 'invalid_token'),
      { status: 200, text: 'read' },
      problem(403, 'read_only'),
    ]
    const { api, calls, logins } = setUp(t, replies)
    assert.equal((await api.call('x', { method: 'DELETE' })).text, 'read')
    assert.deepEqual([logins(), calls.length], [2, 3])
    assert.deepEqual(new Set(calls.map(({ method }) => method)), new Set(['DELETE']))
    await assert.rejects(api.call('x'), Refusal)
    assert.deepEqual([logins(), calls.length], [2, 4])
  })

  it('is given up when nobody logs in', async (t) => {
    const refused = async () => assert.fail('nobody logs in')
    const { api, calls } = setUp(t, [problem(403, 'not_authenticated')], refused)
    await assert.rejects(api.call('x'), /nobody logs in/)
    assert.equal(calls.length, 1)
  })

  it('once made throws nothing for a refusal, and asks for no login', async (t) => {
    const { api, logins } = setUp(t, [problem(403, 'not_authenticated')])
    assert.equal((await api.once('x')).status, 403)
    assert.equal(logins(), 0)
  })

  it('without an answer says so, unless the page itself has ended it', async (t) => {
    const { api, reached } = setUp(t, [])
    await assert.rejects(api.call('x'), Unreachable)
    assert.deepEqual(reached, [false])
    await assert.rejects(api.call('x', { signal: AbortSignal.abort() }), isAborted)
    assert.deepEqual(reached, [false])
  })

  it('that reports how much is sent goes another way, with the same method and body', async (t) => {
    const { api, calls, uploads, reached } = setUp(t, [])
    const sent = () => {}
    const headers = { 'Content-Type': 'text/csv' }
    assert.equal((await api.call('x', { method: 'POST', body: 'a,b', headers, sent })).text, 'uploaded')
    assert.deepEqual(uploads, [{ method: 'POST', body: 'a,b', headers, sent, signal: undefined }])
    assert.deepEqual([calls, reached], [[], [true]])
  })
})

describe('an answer that refuses', () => {
  it('of a proxy has no code, and the words of its page are not shown', () => {
    for (const text of ['<h1>Bad Gateway</h1>', '{"type":"urn:x:stale_record","detail":"No"}']) {
      const refusal = refusalOf({ status: 502, headers: { 'Content-Type': 'text/html' }, text })
      assert.equal(refusal.message, 'The server, or a proxy before it, refused with 502')
      assert.deepEqual([refusal.code, refusal.faults, refusal.body], ['', [], text])
    }
    const torn = refusalOf({
      status: 503,
      headers: { 'Content-Type': 'application/problem+json' },
      text: '{',
    })
    assert.deepEqual([torn.code, torn.retryAfterSeconds], ['', undefined])
  })

  it('is explained with what to do next', () => {
    assert.equal(explain(refusalOf(problem(413, 'body_too_large'))), 'No.')
    const busy = refusalOf(problem(429, 'too_many_attempts', {}, { 'Retry-After': '7' }))
    assert.equal(explain(busy), 'No. Try again in 7 s.')
    assert.match(explain(new Unreachable()), /^Cannot reach the server\. Nothing that you typed is lost/)
    assert.equal(explain(new Error('a fault')), 'a fault')
  })

  it('is repeated when it says, soon if nobody of the server has answered, and else by a person', () => {
    assert.equal(retryAfterOf(refusalOf(problem(503, 'starting', {}, { 'Retry-After': '1' }))), 1)
    assert.equal(retryAfterOf(refusalOf({ status: 502 })), 2)
    assert.equal(retryAfterOf(new Unreachable()), 2)
    assert.equal(retryAfterOf(refusalOf(problem(400, 'invalid_query'))), undefined)
  })
})

describe('the tag of an answer', () => {
  it('is the one that the server made, whatever a proxy has done to it', () => {
    const tagOf = (tag?: string) =>
      tagIn({ status: 200, headers: new Headers(tag === undefined ? {} : { ETag: tag }), text: '' })
    for (const tag of ['"a-1"', 'W/"a-1"', '"a-1-gzip"', 'W/"a-1-zstd"']) assert.equal(tagOf(tag), '"a-1"')
    assert.equal(tagOf(), '')
  })
})
