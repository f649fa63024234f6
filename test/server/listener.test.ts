import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { connect } from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import { BODY_BYTES_MAX, HEADER_BYTES_MAX, HEADER_FIELDS_MAX } from '../../src/limits.ts'
import {
  CONNECTIONS_MAX,
  DESCRIPTORS_RESERVED,
  findConnectionsLimit,
  PLAIN_CONNECTION_BYTES,
  TLS_CONNECTION_BYTES,
} from '../../src/server/listener.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

const list = '/configurations/'

/** Counts answers piece by piece: searching all that has arrived would take long in a long pipeline. */
function isAnswered(count: number) {
  const start = 'HTTP/1.1 '
  let begun = 0
  let rest = ''
  return (_received: string, piece: string) => {
    const unseen = rest + piece
    begun += unseen.split(start).length - 1
    rest = unseen.slice(1 - start.length)
    return begun >= count && piece.endsWith('}')
  }
}

/** Reads only once everything is written; rejects if the connection is reset meanwhile. */
function sendThenRead(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
  socket.on('error', reject)
  socket.write(bytes, () => resolve(socket.toArray().then((chunks) => chunks.join(''))))
  return promise
}

describe('the listener', async () => {
  const files = createFailingFiles()
  const service = await start({ after }, { files })
  const auth = { Authorization: await service.bearer() }
  const ask = createClient(service.url, auth)
  const health = formatRequest('GET /healthz')
  const addition = (name: string, headers = {}) => {
    const body = JSON.stringify({ name, hostname: 'h', port: 1, username: 'u' })
    return formatRequest(`POST ${list}`, { ...auth, ...headers }, body)
  }
  const isStored = async (name: string) => (await ask('GET', list + name)).status === 200
  const statuses = (received: string) => parseAnswers(received).map(({ status }) => status)

  it('survives a client that asks for a tunnel and resets the connection', async () => {
    const { hostname, port } = new URL(service.url)
    for (let i = 0; i < 5; i += 1) {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.write(formatRequest('CONNECT a:1'))
      await once(socket, 'data')
      socket.resetAndDestroy()
      await once(socket, 'close')
      assert.equal((await ask('GET', '/healthz')).status, 200)
    }
  })

  it('refuses a head at the maximum number of fields without waiting for its end', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, i) => `x${i}:\r\n`).join('')
    const head = (count: number) => `GET /healthz HTTP/1.1\r\nHost: a\r\n${fields(count)}`
    assert.deepEqual(statuses(await sendRaw(service.url, head(HEADER_FIELDS_MAX))), [431])
    const enough = `${head(HEADER_FIELDS_MAX - 1)}\r\n`
    assert.deepEqual(statuses(await sendRaw(service.url, enough, { halfClose: true })), [200])
  })

  it('answers a client that half-closes, and stores its change', async () => {
    assert.deepEqual(statuses(await sendRaw(service.url, addition('half'), { halfClose: true })), [200])
    assert.ok(await isStored('half'))
  })

  it('runs pipelined requests one after the other, however long the first takes', async () => {
    const held = holdUp(files, 'datasync')
    const received = sendRaw(
      service.url,
      addition('slow') + health + formatRequest(`GET ${list}slow`, auth) + addition('slow'),
      {
        until: isAnswered(4),
      },
    )
    await held.begun
    await ask('GET', '/healthz')
    held.release()
    assert.deepEqual(statuses(await received), [200, 200, 200, 409])
  })

  it('refuses a credential that an earlier pipelined request has ended', async () => {
    const Authorization = await service.bearer()
    const body = JSON.stringify({ name: 'late', hostname: 'h', port: 1, username: 'u' })
    const bytes =
      formatRequest('POST /logout', { Authorization }) +
      formatRequest(`POST ${list}`, { Authorization }, body)
    assert.deepEqual(statuses(await sendRaw(service.url, bytes, { until: isAnswered(2) })), [200, 403])
    assert.equal(await isStored('late'), false)
  })

  it('does not begin pipelined requests once the client has gone', async (t) => {
    const kept = { name: 'kept', hostname: 'h', port: 1, username: 'u' }
    await ask('POST', list, { body: kept })
    const held = holdUp(files, 'datasync')
    const { hostname, port } = new URL(service.url)
    const socket = connect({ host: hostname, port: Number(port) })
    t.after(() => void socket.destroy())
    socket.write(addition('gone') + formatRequest(`DELETE ${list}kept`, auth))
    await held.begun
    socket.resetAndDestroy()
    await once(socket, 'close')
    held.release()
    // By the time these are stored, the request after them would have run too.
    for (const name of ['after1', 'after2', 'after3']) {
      assert.equal((await ask('POST', list, { body: { ...kept, name } })).status, 200)
    }
    assert.deepEqual([await isStored('gone'), await isStored('kept')], [true, true])
  })

  it('answers every request of a long pipeline', async () => {
    const requests = 5_000
    const received = await sendRaw(service.url, health.repeat(requests), { until: isAnswered(requests) })
    assert.equal(statuses(received).length, requests)
  })

  const nonsense: Record<string, string> = {
    garbage: '\x16\x03\x01 no request \r\n\r\n',
    'half a request': 'GET /healthz HTTP/1.1\r\nHos',
    CONNECT: formatRequest('CONNECT a:443'),
    'a request with two lengths': formatRequest('POST /login', {
      'Transfer-Encoding': 'chunked',
      'Content-Length': '4',
    }),
  }
  for (const [what, bytes] of Object.entries(nonsense)) {
    it(`does not let ${what} overtake the good answer before it`, async () => {
      const name = what.replaceAll(' ', '-')
      const held = holdUp(files, 'datasync')
      const received = sendRaw(service.url, addition(name) + bytes, { halfClose: true })
      await held.begun
      await ask('GET', '/healthz')
      held.release()
      const [first, second, ...more] = parseAnswers(await received)
      assert.deepEqual([first?.status, more.length], [200, 0])
      assert.ok(second === undefined || second.status === 400)
      assert.ok(await isStored(name))
    })
  }

  it('sends nothing after an answer that closes', async () => {
    const received = await sendRaw(service.url, addition('last', { Connection: 'close' }) + health)
    assert.deepEqual(statuses(received), [200])
  })

  const chunked = { ...auth, 'Transfer-Encoding': 'chunked' }
  const broken: Record<string, [bytes: string, status: number]> = {
    'ends before its length': [formatRequest(`POST ${list}`, { ...auth, 'Content-Length': '9' }, '{}'), 400],
    'has a bad chunk': [formatRequest(`POST ${list}`, chunked, '2\r\n{}xx'), 400],
    'has a chunk without a length': [formatRequest(`POST ${list}`, chunked, '-2\r\n{}\r\n0\r\n\r\n'), 400],
    'has no last chunk': [formatRequest(`POST ${list}`, chunked, '2\r\n{}\r\n'), 400],
    'has endless extensions': [
      formatRequest(`POST ${list}`, chunked, `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
      413,
    ],
    'has endless trailers': [
      formatRequest(`POST ${list}`, chunked, `2\r\n{}\r\n0\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`),
      431,
    ],
    'ends early in a login': [formatRequest('POST /login', { 'Content-Length': '9' }, '{}'), 400],
    'ends early and is not used': [
      formatRequest(`GET ${list}`, { ...auth, 'Content-Length': '9' }, '{}'),
      200,
    ],
  }
  for (const [what, [bytes, status]] of Object.entries(broken)) {
    it(`answers a request exactly once, without delay, when its body ${what}`, async () => {
      assert.deepEqual(statuses(await sendRaw(service.url, bytes, { halfClose: true })), [status])
    })
  }

  it('lets a client read an early refusal after it has sent all of a big body, and closes', async (t) => {
    // The server lingers however long the client takes.
    holdTimers(t)
    const body = 'x'.repeat(8 * 1024 * 1024)
    for (const [headers, status] of [
      [auth, 413],
      [{}, 403],
      [chunked, 413],
      [{ 'Transfer-Encoding': 'chunked' }, 403],
    ] as const) {
      const isChunked = 'Transfer-Encoding' in headers
      const framed = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
      const received = await sendThenRead(service.url, formatRequest(`POST ${list}`, headers, framed))
      assert.deepEqual(statuses(received), [status])
      assert.match(received, /^connection: close\r$/im)
    }
  })

  it('closes the connection of a refused body instead of parsing the rest as a request', async () => {
    const length = { ...auth, 'Content-Length': String(BODY_BYTES_MAX + 1) }
    assert.deepEqual(
      statuses(await sendRaw(service.url, formatRequest(`POST ${list}`, length, health))),
      [413],
    )
  })

  it('keeps the connection after a small body that is not used', async () => {
    const unread = [
      formatRequest('GET /healthz', {}, health),
      formatRequest('GET /', {}, health),
      formatRequest(`DELETE ${list}none`, auth, '{'),
    ]
    const received = await sendRaw(service.url, `${unread.join('')}${health}`, { until: isAnswered(4) })
    assert.deepEqual(statuses(received), [200, 403, 404, 200])
  })

  describe('with Expect: 100-continue', () => {
    const expecting = (length: number, headers = auth) => {
      return formatRequest(`POST ${list}`, {
        ...headers,
        Expect: '100-continue',
        'Content-Length': String(length),
      })
    }

    it('asks for a body that it accepts', async () => {
      const { hostname, port } = new URL(service.url)
      const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
      const body = JSON.stringify({ name: 'asked', hostname: 'h', port: 1, username: 'u' })
      socket.write(expecting(body.length))
      const [first] = await once(socket, 'data')
      assert.equal(first, 'HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(body)
      const [second] = await once(socket, 'data')
      socket.destroy()
      assert.deepEqual(statuses(second), [200])
    })

    const refused: [what: string, bytes: string, status: number][] = [
      ['too long', expecting(BODY_BYTES_MAX + 1), 413],
      ['of a stranger', expecting(2, { Authorization: 'Bearer x' }), 403],
      ['of an unknown path', expecting(2).replace(list, '/nowhere'), 404],
    ]
    for (const [what, bytes, status] of refused) {
      it(`refuses a body ${what} without asking for it, and closes`, async () => {
        const received = await sendRaw(service.url, bytes)
        assert.deepEqual(statuses(received), [status])
        assert.match(received, /^connection: close\r$/im)
      })
    }

    it('does not send 100 to HTTP/1.0, nor if there is no body', async () => {
      const old = addition('old', { Expect: '100-continue' }).replace('HTTP/1.1', 'HTTP/1.0')
      const bare = formatRequest(`POST ${list}`, { ...auth, Expect: '100-continue' })
      assert.deepEqual(statuses(await sendRaw(service.url, old, { halfClose: true })), [200])
      assert.deepEqual(statuses(await sendRaw(service.url, bare, { halfClose: true })), [400])
    })

    it('refuses any other expectation, 417 with a problem', async () => {
      const received = await sendRaw(service.url, addition('expected', { Expect: 'more' }), {
        halfClose: true,
      })
      assert.deepEqual(statuses(received), [417])
      assert.match(received, /^content-type: application\/problem\+json\r$/im)
      assert.equal(await isStored('expected'), false)
    })
  })

  it('answers HTTP/1.0 in 1.1 and closes', async () => {
    const received = await sendRaw(service.url, 'GET /healthz HTTP/1.0\r\n\r\n')
    assert.deepEqual(statuses(received), [200])
    assert.match(received, /^connection: close\r$/im)
  })

  it('closes after an upgrade request, as the parser would lose part of what follows', async () => {
    const asked = formatRequest('GET /healthz', { Connection: 'Upgrade', Upgrade: 'h2c' })
    const body = 'GET /healthz?smuggled HTTP/1.1\r\n\r\n'
    const follower = formatRequest('POST /logout', { 'Content-Length': String(body.length) })
    const received = await sendRaw(service.url, asked + follower + body)
    assert.deepEqual(statuses(received), [200])
    assert.match(received, /^connection: close\r$/im)
  })

  it('keeps an HTTP/1.1 connection open unless asked to close it', async () => {
    assert.deepEqual(
      statuses(await sendRaw(service.url, health + health + health, { until: isAnswered(3) })),
      [200, 200, 200],
    )
  })

  it('accepts a head up to its limit, and answers 431 or 414 beyond', async (t) => {
    holdTimers(t)
    const fill = (bytes: number) => formatRequest('GET /healthz', { X: 'x'.repeat(bytes) })
    assert.deepEqual(
      statuses(await sendRaw(service.url, fill(HEADER_BYTES_MAX - 200), { halfClose: true })),
      [200],
    )
    const longPath = formatRequest(`GET /${'x'.repeat(HEADER_BYTES_MAX)}`)
    for (const [bytes, status] of [
      [fill(HEADER_BYTES_MAX), 431],
      [fill(1024 * 1024), 431],
      [longPath, 414],
    ] as const) {
      const received = await sendRaw(service.url, bytes, { until: isAnswered(1) })
      assert.deepEqual(statuses(received), [status])
      assert.match(received, /^content-type: application\/problem\+json\r$/im)
    }
  })

  it('answers HEAD, 204, 209 and 304 without a body, so that the next answer follows directly', async () => {
    const etag = (await ask('GET', `${list}slow`)).headers.etag ?? ''
    const bodiless = [
      formatRequest('HEAD /healthz'),
      formatRequest('HEAD /nowhere'),
      formatRequest('OPTIONS /healthz', auth),
      formatRequest(`GET ${list}slow`, { ...auth, 'If-None-Match': etag }),
      formatRequest(`DELETE ${list}slow`, auth),
    ]
    for (const bytes of bodiless) {
      const received = await sendRaw(service.url, bytes + health, { until: isAnswered(2) })
      assert.match(received.split('\r\n\r\n')[1] ?? '', /^HTTP\/1\.1 200 OK\r\n/)
    }
  })

  it('survives clients that disconnect at any time', async () => {
    const requests = [
      addition('went'),
      formatRequest(`GET ${list}`, auth),
      addition('went').slice(0, -5),
      'GET / HTT',
      '',
    ]
    const { hostname, port } = new URL(service.url)
    for (const bytes of requests) {
      const socket = connect({ host: hostname, port: Number(port) }, () =>
        socket.write(bytes, () => socket.resetAndDestroy()),
      )
      await once(socket, 'close')
    }
    assert.equal((await ask('GET', '/healthz')).status, 200)
    assert.ok(namesIn(await ask('GET', list)).length > 0)
    assert.deepEqual(
      service.log.lines.filter((line) => line.includes('"level":"error"')),
      [],
    )
  })
})

const OPEN = 20

/** A machine that reports these limits, on which this process has OPEN files open. */
function holdTo(t: TestContext, limits: string | undefined) {
  t.mock.method(fs, 'readFileSync', () => limits ?? assert.fail('there is no /proc'))
  t.mock.method(fs, 'readdirSync', () => Array.from({ length: OPEN }, String))
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
}

const limitsOf = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft.padEnd(20)} 1048576              files     \n`

describe('findConnectionsLimit', () => {
  const taken = OPEN + DESCRIPTORS_RESERVED
  const rows: [
    what: string,
    limits: string | undefined,
    expected: ReturnType<typeof findConnectionsLimit>,
  ][] = [
    ['returns the maximum if no limit is known', undefined, { connections: CONNECTIONS_MAX }],
    ['returns the maximum if there is no limit', limitsOf('unlimited'), { connections: CONNECTIONS_MAX }],
    [
      'returns the maximum if enough files may be open',
      limitsOf(String(CONNECTIONS_MAX + taken)),
      { connections: CONNECTIONS_MAX },
    ],
    [
      'leaves room for files if the limit is lower',
      limitsOf(String(CONNECTIONS_MAX + taken - 1)),
      { connections: CONNECTIONS_MAX - 1, openFiles: CONNECTIONS_MAX + taken - 1 },
    ],
    ['returns at least one', limitsOf('10'), { connections: 1, openFiles: 10 }],
  ]
  for (const [what, limits, expected] of rows) {
    it(what, (t) => {
      holdTo(t, limits)
      assert.deepEqual(findConnectionsLimit(false, Number.POSITIVE_INFINITY), expected)
    })
  }

  const connections = 100
  for (const [what, limits] of [
    ['unknown', undefined],
    ['none', limitsOf('unlimited')],
    ['just enough', limitsOf(String(connections + taken))],
  ])
    it(`leaves memory for more than connections if the limit on files is ${what}`, (t) => {
      holdTo(t, limits)
      for (const [isTls, each] of [
        [false, PLAIN_CONNECTION_BYTES],
        [true, TLS_CONNECTION_BYTES],
      ] as const)
        assert.deepEqual(findConnectionsLimit(isTls, connections * each + 1), { connections })
    })
})
