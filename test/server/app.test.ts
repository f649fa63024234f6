import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Authenticator } from '../../src/auth/authenticator.ts'
import { OverloadedError } from '../../src/errors.ts'
import { type Reply, type Request, textReply, type VerifiedCredential } from '../../src/http/message.ts'
import { Problem } from '../../src/http/problem.ts'
import type { Route } from '../../src/http/router.ts'
import type { Scope } from '../../src/http/scope.ts'
import { type App, createApp, createStartingApp, problemReply } from '../../src/server/app.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const elsewhere = { origin: 'http://evil.example', host: 'book.example' }

function requestOf(method: string, path: string, headers: Request['headers'] = {}): Request {
  const readBody = () => assert.fail('nobody reads the body')
  const caller = { requestId: 'r1', address: '192.0.2.1', isSecure: false }
  return {
    ...caller,
    method,
    path,
    query: '',
    headers,
    signal: new AbortController().signal,
    readBody,
    readPieces: readBody,
    progress: { bytes: 0, waitedMs: 0 },
  }
}

function credentialOf(carrier: VerifiedCredential['carrier'], scope: Scope): VerifiedCredential {
  return { carrier, principal: { kind: 'user', name: 'admin', scope } }
}

/** An app whose handlers answer with the parameter; the caller has the current credential of `held`. */
function setUp(first?: VerifiedCredential) {
  const log = createMemoryLog()
  const goOn = Promise.withResolvers<void>()
  const held: { credential: VerifiedCredential | undefined; remembering?: Promise<void>; goOn: typeof goOn } =
    {
      credential: first,
      goOn,
    }
  const handleSlowly = () => goOn.promise.then(() => textReply(200, ''))
  const refuseSlowly = async ({ principal }: Request) => {
    const seen = principal?.grants?.[0]
    await goOn.promise
    throw new Problem('not_expressible', `Cannot express those of ${seen?.replace('read?', '')}`)
  }
  const handle = (_: Request, parameter: string) => textReply(200, parameter)
  const route = (method: Route['method'], path: string, access: Route['access']): Route => {
    return { method, path, access, limits: 'same', handle }
  }
  const fail = (error: Error) => () => {
    throw error
  }
  const routes: Route[] = [
    route('GET', '/things/', 'read'),
    route('GET', '/things/:name', 'read'),
    route('PATCH', '/things/:name', 'write'),
    { ...route('GET', '/slow', 'read'), handle: handleSlowly },
    { ...route('POST', '/slow', 'read'), handle: handleSlowly },
    { ...route('GET', '/unclear', 'read'), handle: refuseSlowly },
    route('POST', '/login', 'public'),
    route('GET', '/health', 'public'),
    { ...route('GET', '/thrown', 'public'), handle: fail(new Error('a secret detail')) },
    { ...route('GET', '/rejected', 'public'), handle: () => Promise.reject(new Error('a secret detail')) },
    { ...route('GET', '/busy', 'public'), handle: fail(new OverloadedError('Too much to do')) },
    {
      ...route('GET', '/own', 'public'),
      handle: fail(new Problem('malformed_path', 'told')),
      problemReply: ({ message }) => textReply(400, `own: ${message}`),
    },
  ]
  const authenticator = {
    authenticate: () => held.credential,
    principalNow: () => held.credential?.principal,
    get remembering() {
      return held.remembering
    },
  } as unknown as Authenticator
  const app = createApp(routes, '', authenticator, log)
  return { app, held, log }
}

async function answerOf(app: App, request: Request) {
  const { status, headers, body = '' } = await app(request)
  const code = status < 400 ? undefined : /urn:connbook:problem:(\w+)/.exec(String(body))?.[1]
  return { status, headers, body, code }
}

const outcome = async (app: App, ...request: Parameters<typeof requestOf>) => {
  const { status, code } = await answerOf(app, requestOf(...request))
  return code === undefined ? status : `${status} ${code}`
}

describe('createApp', () => {
  it('calls the handler with the parameter, and sets pattern and principal on the request', async () => {
    const credential = credentialOf('bearer', 'read')
    const { app } = setUp(credential)
    const request = requestOf('GET', '/things/a%2Fb')
    assert.equal((await answerOf(app, request)).body, 'a/b')
    assert.equal(request.pattern, '/things/:name')
    assert.equal(request.principal, credential.principal)
  })

  it('says to a stranger only that a credential is missing, except on a public route', async () => {
    const { app } = setUp()
    for (const path of ['/things/', '/nothing', '/%ff'])
      assert.equal(await outcome(app, 'GET', path), '403 not_authenticated', path)
    assert.equal(await outcome(app, 'PUT', '/health'), '403 not_authenticated')
    assert.equal(await outcome(app, 'GET', '/health'), 200)
    assert.equal(await outcome(app, 'HEAD', '/health'), 200)
  })

  it('reports a bad bearer as an invalid token, and any other header as a missing credential', async () => {
    const { app } = setUp()
    const challengeFor = async (authorization: string) => {
      const { code, headers } = await answerOf(app, requestOf('GET', '/things/', { authorization }))
      return [code, headers['WWW-Authenticate']]
    }
    const realm = 'Bearer realm="connbook"'
    assert.deepEqual(await challengeFor('Bearer x'), ['invalid_token', `${realm}, error="invalid_token"`])
    assert.deepEqual(await challengeFor('Basic x'), ['not_authenticated', realm])
  })

  it('refuses an expired credential only once its expiry is on disk', async () => {
    const { app, held } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    held.remembering = promise
    const order: string[] = []
    const refused = outcome(app, 'GET', '/things/').then((found) => order.push(String(found)))
    // More turns than a refusal takes that waits for nothing.
    for (let i = 0; i < 20; i++) await Promise.resolve()
    order.push('on disk')
    resolve()
    await refused
    assert.deepEqual(order, ['on disk', '403 not_authenticated'])
  })

  it('checks the path, then the method, then the scope', async () => {
    const { app } = setUp(credentialOf('bearer', 'read'))
    assert.equal(await outcome(app, 'PATCH', '/%ff'), '400 malformed_path')
    assert.equal(await outcome(app, 'PATCH', '/nothing'), '404 unknown_path')
    assert.equal(await outcome(app, 'DELETE', '/things/a'), '405 method_not_allowed')
    assert.equal(await outcome(app, 'PATCH', '/things/a'), '403 insufficient_scope')
    const writing = setUp(credentialOf('bearer', 'read write'))
    assert.equal(await outcome(writing.app, 'PATCH', '/things/a'), 200)
  })

  it('lists the methods of a resource for OPTIONS and in a 405', async () => {
    const { app } = setUp(credentialOf('bearer', 'read'))
    for (const [method, status] of [
      ['OPTIONS', 204],
      ['POST', 405],
    ] as const) {
      const found = await answerOf(app, requestOf(method, '/things/a'))
      assert.deepEqual([found.status, found.headers.Allow], [status, 'GET, HEAD, PATCH, OPTIONS'])
    }
  })

  it('refuses a cross-site change by cookie or on a public route', async () => {
    const byCookie = setUp(credentialOf('cookie', 'read write')).app
    const byBearer = setUp(credentialOf('bearer', 'read write')).app
    assert.equal(await outcome(byCookie, 'PATCH', '/things/a', elsewhere), '403 cross_site')
    assert.equal(await outcome(byCookie, 'PATCH', '/nothing', elsewhere), '403 cross_site')
    assert.equal(await outcome(byCookie, 'GET', '/things/a', elsewhere), 200)
    assert.equal(await outcome(byBearer, 'PATCH', '/things/a', elsewhere), 200)
    assert.equal(await outcome(setUp().app, 'POST', '/login', elsewhere), '403 cross_site')
    assert.equal(await outcome(setUp().app, 'POST', '/login'), 200)
  })

  it('logs Origin and Host that differ, but not for each request', async () => {
    const { app, log } = setUp(credentialOf('cookie', 'read write'))
    for (let i = 0; i < 5; i++) await outcome(app, 'PATCH', '/things/a', elsewhere)
    assert.deepEqual(log.events, ['origin_refused'])
    const { origin, host, remedy } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual({ origin, host }, elsewhere)
    assert.match(remedy, /let the proxy pass Host on/)
  })

  it('logs nothing when the browser says itself that the page is of another site', async () => {
    const { app, log } = setUp(credentialOf('cookie', 'read write'))
    const said = { ...elsewhere, 'sec-fetch-site': 'cross-site' }
    assert.equal(await outcome(app, 'PATCH', '/things/a', said), '403 cross_site')
    assert.deepEqual(log.events, [])
  })

  it('lets a page in that is of the same origin for the browser, behind a proxy with another Host', async () => {
    const { app } = setUp(credentialOf('cookie', 'read write'))
    const said = { ...elsewhere, 'sec-fetch-site': 'same-origin' }
    assert.equal(await outcome(app, 'PATCH', '/things/a', said), 200)
  })

  it('lets a request be judged again, by what its route needs', async () => {
    const { app, held } = setUp(credentialOf('bearer', 'read write'))
    const change = requestOf('PATCH', '/things/a')
    const look = requestOf('GET', '/things/a')
    for (const request of [change, look]) {
      await app(request)
      request.checkAgain?.()
    }
    held.credential = credentialOf('bearer', 'read')
    look.checkAgain?.()
    assert.throws(() => change.checkAgain?.(), { code: 'insufficient_scope' })
    held.credential = undefined
    for (const request of [change, look])
      assert.throws(() => request.checkAgain?.(), { code: 'not_authenticated' })
  })

  it('answers no read that took its time when the caller may not read any more', async () => {
    const { app, held } = setUp(credentialOf('bearer', 'read'))
    const answers = () => ['GET', 'HEAD', 'POST'].map((method) => outcome(app, method, '/slow'))
    const refused = answers()
    held.credential = undefined
    held.goOn.resolve()
    const problem = '403 not_authenticated'
    // What a change has done is answered.
    assert.deepEqual(await Promise.all(refused), [problem, problem, 200])
    held.credential = credentialOf('bearer', 'read')
    assert.deepEqual(await Promise.all(answers()), [200, 200, 200])
  })

  it('makes a read that was refused again for somebody who sees other records by then', async () => {
    const { app, held } = setUp(credentialOf('bearer', 'read'))
    const limited = (grants: readonly string[]): VerifiedCredential => ({
      carrier: 'bearer',
      principal: { kind: 'user', name: 'limited', scope: 'read', grants },
    })
    held.credential = limited(['read?prefix=a'])
    const refused = answerOf(app, requestOf('GET', '/unclear'))
    held.credential = limited(['read?prefix=b'])
    held.goOn.resolve()
    assert.match(String((await refused).body), /of prefix=b/)
  })

  it('makes no function of its own for each change: that kept requests in memory', async () => {
    const { app } = setUp(credentialOf('bearer', 'read write'))
    const [one, other] = [requestOf('PATCH', '/things/a'), requestOf('PATCH', '/things/a')]
    await app(one)
    await app(other)
    assert.ok(one.checkAgain !== undefined && one.checkAgain === other.checkAgain)
  })

  it('answers an unexpected error with 500, and shows the reason in the log only', async () => {
    for (const path of ['/thrown', '/rejected']) {
      const { app, log } = setUp()
      const { status, code, body } = await answerOf(app, requestOf('GET', path))
      assert.deepEqual([status, code], [500, 'internal'])
      assert.doesNotMatch(String(body), /secret/)
      const { event, request_id, reason } = JSON.parse(log.lines[0] ?? '')
      assert.deepEqual([event, request_id, log.lines.length], ['request_failed', 'r1', 1])
      assert.match(reason, /^Error: a secret detail\n +at /)
    }
  })

  it('answers an expected error with its problem, and logs nothing', async () => {
    const { app, log } = setUp()
    const { status, headers } = await answerOf(app, requestOf('GET', '/busy'))
    assert.deepEqual([status, headers['Retry-After']], [503, '1'])
    assert.deepEqual(log.lines, [])
  })

  it('lets a route format its own problems', async () => {
    assert.equal((await answerOf(setUp().app, requestOf('GET', '/own'))).body, 'own: told')
  })
})

describe('createStartingApp', () => {
  const handle = () => textReply(200, 'alive')
  const routes: Route[] = [
    { method: 'GET', path: '/health', access: 'public', limits: 'same', handle },
    {
      method: 'GET',
      path: '/ready',
      access: 'public',
      limits: 'same',
      handle() {
        throw new Problem('not_ready', 'not yet')
      },
    },
  ]

  it('answers its own routes at once, before the next app is ready', async () => {
    const app = createStartingApp(routes, '/base', new Promise(() => {}))
    assert.equal(await outcome(app, 'GET', '/base/health'), 200)
    assert.equal(await outcome(app, 'GET', '/base/ready'), '503 not_ready')
  })

  it('makes all other requests wait for the next app', async () => {
    const next = Promise.withResolvers<App | undefined>()
    const app = createStartingApp(routes, '', next.promise)
    const waiting = [
      outcome(app, 'GET', '/other'),
      outcome(app, 'POST', '/health'),
      outcome(app, 'GET', '/%ff'),
    ]
    next.resolve((): Reply => ({ status: 209, headers: {} }))
    assert.deepEqual(await Promise.all(waiting), [209, 209, 209])
  })

  it('passes on the parameter, and the problem of a promise', async () => {
    const late: Route = {
      method: 'GET',
      path: '/file/:name',
      access: 'public',
      limits: 'same',
      handle: async (_, name) => {
        if (name === 'none') throw new Problem('unknown_path', 'not there')
        return textReply(200, name)
      },
    }
    const app = createStartingApp([late], '', new Promise(() => {}))
    assert.equal((await answerOf(app, requestOf('GET', '/file/a%2Fb'))).body, 'a/b')
    assert.equal(await outcome(app, 'GET', '/file/none'), '404 unknown_path')
  })

  it('leaves to the next app what fails with no problem', async () => {
    const fail = () => {
      throw new TypeError('made by the test')
    }
    const failing: Route[] = [
      { method: 'GET', path: '/now', access: 'public', limits: 'same', handle: fail },
      { method: 'GET', path: '/later', access: 'public', limits: 'same', handle: async () => fail() },
    ]
    const next = Promise.resolve(async (): Promise<Reply> => ({ status: 500, headers: {} }))
    const app = createStartingApp(failing, '', next)
    assert.equal(await outcome(app, 'GET', '/now'), 500)
    assert.equal(await outcome(app, 'GET', '/later'), 500)
  })

  it('redirects at once, and only where there is no route', async () => {
    const redirect = (): Reply => ({ status: 303, headers: {} })
    const app = createStartingApp(routes, '', new Promise(() => {}), redirect)
    assert.equal(await outcome(app, 'GET', '/'), 303)
    assert.equal(await outcome(app, 'GET', '/health'), 200)
  })

  it('answers 503 with Retry-After when that takes long', async () => {
    const app = createStartingApp(routes, '', Promise.resolve(undefined))
    const { status, code, headers } = await answerOf(app, requestOf('GET', '/other'))
    assert.deepEqual([status, code, headers['Retry-After']], [503, 'starting', '1'])
  })
})

describe('problemReply', () => {
  it('is ASCII, whatever it tells', () => {
    const told = 'no record named "münchen 日本 🎈\u2028"'
    const { body } = problemReply(
      new Problem('invalid_input', told, { faults: [{ field: 'größe', detail: 'ü' }] }),
    )
    assert.match(String(body), /^[\x20-\x7e]+$/)
    const { detail, errors } = JSON.parse(String(body))
    assert.deepEqual([detail, errors], [told, [{ field: 'größe', detail: 'ü' }]])
  })

  it('is never stored by caches, and the headers of the problem take precedence', () => {
    const problem = new Problem('method_not_allowed', 'told', {
      headers: { Allow: 'GET', 'Cache-Control': 'private' },
    })
    const { status, headers, body } = problemReply(problem)
    assert.equal(status, 405)
    assert.deepEqual(headers, {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'private',
      Allow: 'GET',
    })
    assert.equal(JSON.parse(String(body)).detail, 'told')
    assert.equal(problemReply(new Problem('unknown_path', '')).headers['Cache-Control'], 'no-store')
  })
})
