import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type Request, textReply } from '../../src/http/message.ts'
import { LINGER_MS, REQUEST_TIMEOUT_MS } from '../../src/limits.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { problemReply } from '../../src/server/app.ts'
import { HALF_CLOSED_PROBE_MS } from '../../src/server/incoming-request.ts'
import { Listener, type ListenerOptions } from '../../src/server/listener.ts'
import { makeCertificate } from '../support/certificate.ts'
import { holdTurns } from '../support/held-turns.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { formatRequest, parseAnswers } from '../support/raw-http.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Place = 'TCP' | 'TLS' | 'a Unix socket' | "the owner's socket"

/** What Node takes from a socket in one read. */
const READ_BYTES_MAX = 64 * 1024
/** The handshake, and a record of which the end has not come. */
const TLS_BYTES_MAX = 20 * 1024
const PIECES = 16

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** A listener with an answer that waits for the test, and one client of it. */
async function setUp(
  t: TestContext,
  place: Place,
  scheduler: ListenerOptions['scheduler'] = new Scheduler(),
) {
  const release = Promise.withResolvers<void>()
  const heldSignal = Promise.withResolvers<AbortSignal>()
  let begun = 0
  let parsed = 0
  let mostAhead = 0
  const socketOf = Promise.withResolvers<Socket>()
  const app = (request: Request) => {
    begun += 1
    const { path } = request
    const takeBody = () => request.readBody().then((body) => textReply(200, `${body.length}`), problemReply)
    if (path === '/held') {
      heldSignal.resolve(request.signal)
      return release.promise.then(() => textReply(200, path))
    }
    if (request.method === 'POST') return takeBody()
    if (path !== '/long') return textReply(200, path)
    const body = Array.from({ length: PIECES }, () => 'x'.repeat(READ_BYTES_MAX)).values()
    return { status: 200, headers: { 'Content-Length': String(PIECES * READ_BYTES_MAX) }, body }
  }
  const listener = new Listener({
    app,
    scheduler,
    log: createMemoryLog(),
    hasAccessLog: false,
    // A proxy in front of everybody.
    trustedProxies: (address) => address === '127.0.0.1',
    tls: place === 'TLS' ? await makeCertificate(t) : undefined,
  })
  t.after(() => listener.drain(0))
  const path = join(await temporaryFolder(t), 's')
  if (place === "the owner's socket") await listener.listenForOwner(path)
  const isTcp = place === 'TCP' || place === 'TLS'
  const address = isTcp
    ? await listener.listen({ port: 0, host: '127.0.0.1' })
    : place === 'a Unix socket'
      ? await listener.listen({ path })
      : undefined
  const follow = (channel: string, call: (message: never) => void) => {
    subscribe(channel, call as never)
    t.after(() => unsubscribe(channel, call as never))
  }
  follow('net.server.socket', ({ socket }: { socket: Socket }) => socketOf.resolve(socket))
  let served: Socket | undefined
  follow('http.server.request.start', ({ socket }: { socket: Socket }) => {
    served = socket
    parsed += 1
    mostAhead = Math.max(mostAhead, parsed - begun)
  })
  const open = () => {
    const options = address === undefined ? { path } : { host: '127.0.0.1', port: address.port }
    const client =
      place === 'TLS'
        ? connectTls({ ...options, rejectUnauthorized: false })
        : connect({ ...options, allowHalfOpen: true })
    t.after(() => void client.destroy())
    return client
  }
  return {
    listener,
    release: release.resolve,
    open,
    /** As the system counts it, on the server's side. */
    bytesRead: async () => (await socketOf.promise).bytesRead,
    /** The signal of the request for /held. */
    heldSignal: heldSignal.promise,
    begun: () => begun,
    parsed: () => parsed,
    /** Most requests that were parsed and had not begun. */
    mostAhead: () => mostAhead,
    /** As Node reports it of a request that has not come in time. */
    reportTimeOut() {
      const error = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      const { server } = served as unknown as { server?: EventEmitter }
      server?.emit('clientError', error, served)
    },
    async begins(count: number) {
      while (begun < count) await nextTurn()
      for (let i = 0; i < 20; i += 1) await nextTurn()
    },
  }
}

/** All that a client receives until the server closes, or until so many answers have come. */
async function answersOf(client: Socket, count = Number.POSITIVE_INFINITY) {
  const pieces: string[] = []
  let begun = 0
  for await (const piece of client.setEncoding('latin1')) {
    pieces.push(piece)
    begun += piece.split('HTTP/1.1 2').length - 1
    if (begun < count) continue
    const last = pieces.slice(-40).join('')
    if (isWhole(last.slice(last.lastIndexOf('HTTP/1.1 2')))) break
  }
  return parseAnswers(pieces.join('')).filter(({ status }) => status >= 200)
}

function isWhole(answer: string): boolean {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** So that few requests are more than some reads take. */
const padded = { 'X-Padding': '-'.repeat(150) }
const get = (path: string) => formatRequest(`GET ${path}`, padded)
const many = (count: number, make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i))
const chunked = { ...padded, 'Transfer-Encoding': 'chunked' }
const expecting = { Expect: '100-continue' }
const numbered = (count: number) => many(count, (i) => get(`/${i}`))

/** Sent at one go; of each, what the answer's body is. */
const pipelines: Record<string, { requests: string[]; bodies: string[] }> = {
  'for fast answers': { requests: numbered(1_000), bodies: many(1_000, (i) => `/${i}`) },
  'behind a slow answer': {
    requests: [get('/held'), ...numbered(1_000)],
    bodies: ['/held', ...many(1_000, (i) => `/${i}`)],
  },
  'with bodies': {
    requests: many(1_000, (i) => formatRequest('POST /', padded, 'x'.repeat(i % 50))),
    bodies: many(1_000, (i) => `${i % 50}`),
  },
  'with long bodies': {
    requests: many(30, (i) => formatRequest('POST /', {}, 'x'.repeat(60_000 + i))),
    bodies: many(30, (i) => `${60_000 + i}`),
  },
  'with bodies in chunks': {
    requests: many(1_000, () => formatRequest('POST /', chunked, '1\r\na\r\n4\r\nbody\r\n0\r\n\r\n')),
    bodies: many(1_000, () => '5'),
  },
  'with bodies in many chunks': {
    requests: many(20, () => formatRequest('POST /', chunked, `${'1\r\na\r\n'.repeat(1_000)}0\r\n\r\n`)),
    bodies: many(20, () => '1000'),
  },
  'that would wait for 100 (Continue)': {
    requests: many(500, () => formatRequest('POST /', expecting, 'body')),
    bodies: many(500, () => '4'),
  },
  'for long answers': {
    requests: [...many(10, () => get('/long')), ...numbered(1_000)],
    bodies: [...many(10, () => 'x'.repeat(PIECES * READ_BYTES_MAX)), ...many(1_000, (i) => `/${i}`)],
  },
}

describe('pipelined requests', () => {
  for (const place of ['TCP', 'TLS', 'a Unix socket', "the owner's socket"] as const)
    for (const [what, { requests, bodies }] of Object.entries(pipelines)) {
      it(`${what} are parsed one ahead, and read one read ahead, over ${place}`, async (t) => {
        const server = await setUp(t, place)
        const ends = [0]
        for (const { length } of requests) ends.push((ends.at(-1) ?? 0) + length)
        const client = server.open()
        // With TLS, these bytes come with the end of the handshake.
        client.write(requests.join(''))
        let mostBytesAhead = 0
        const look = async () => {
          const read = await server.bytesRead()
          mostBytesAhead = Math.max(mostBytesAhead, read - (ends[server.begun()] ?? 0))
          await nextTurn()
        }
        // Nothing is taken at first, so long answers get stuck.
        for (let i = 0; i < 200; i += 1) await look()
        server.release()
        const answers = answersOf(client, requests.length)
        let isOver = false
        void answers.finally(() => (isOver = true)).catch(() => {})
        while (!isOver) await look()
        assert.deepEqual(
          (await answers).map(({ body }) => body),
          bodies,
        )
        assert.ok(server.mostAhead() <= 2, `${server.mostAhead()} requests`)
        const longest = Math.max(...requests.map(({ length }) => length))
        const limit = READ_BYTES_MAX + 2 * longest + (place === 'TLS' ? TLS_BYTES_MAX : 0)
        assert.ok(mostBytesAhead <= limit, `${mostBytesAhead} bytes`)
      })
    }

  it('are not parsed while the first has no answer, and go on behind it', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open()
    client.write(get('/held') + numbered(100).join(''))
    await server.begins(1)
    assert.deepEqual([server.begun(), server.parsed()], [1, 2])
    client.write(numbered(1_000).join(''))
    for (let i = 0; i < 50; i += 1) await nextTurn()
    assert.deepEqual([server.begun(), server.parsed()], [1, 2])
    server.release()
    assert.equal((await answersOf(client, 1_101)).length, 1_101)
  })

  it('take turns by the network that a trusted proxy names', async (t) => {
    const { scheduler, takeTurns, callers } = holdTurns()
    const server = await setUp(t, 'TCP', scheduler)
    const client = server.open()
    const from = (address: string) => formatRequest('GET /', { 'X-Forwarded-For': address })
    client.write(get('/held') + from('192.0.2.1') + from('2001:db8::1') + from('2001:db8::2'))
    await server.begins(1)
    server.release()
    while (server.begun() < 4) {
      await nextTurn()
      takeTurns()
    }
    assert.deepEqual(callers, ['192.0.2.1', '20010db800000000/64', '20010db800000000/64'])
  })

  const endings: Record<string, { bytes: string; statuses: number[]; halfClose?: boolean }> = {
    'are all answered when the client has sent its end': {
      bytes: get('/1') + get('/2'),
      statuses: [200, 200, 200],
      halfClose: true,
    },
    'are answered before the refusal of garbage behind them': {
      bytes: `${get('/1')}garbage\r\n\r\n${get('/2')}`,
      statuses: [200, 200, 400],
    },
    'are refused when their body is garbage': {
      bytes: `${formatRequest('POST /', chunked, 'garbage\r\n')}${get('/2')}`,
      statuses: [200, 400],
    },
    'end with one that asks to close': {
      bytes: formatRequest('GET /1', { Connection: 'close' }) + get('/2'),
      statuses: [200, 200],
    },
    'end with one for an upgrade': {
      bytes: formatRequest('GET /1', { Connection: 'Upgrade', Upgrade: 'h2c' }) + get('/2'),
      statuses: [200, 200],
    },
    'end with one for an upgrade that has a body': {
      bytes: formatRequest('POST /', { Connection: 'Upgrade', Upgrade: 'h2c' }, 'body') + get('/2'),
      statuses: [200, 200],
    },
    'end with CONNECT': {
      bytes: get('/1') + formatRequest('CONNECT a:1') + get('/2'),
      statuses: [200, 200, 400],
    },
    'end with one that is framed wrongly': {
      bytes: `${formatRequest('GET /1', { 'Content-Length': '0', 'content-length': '0' })}${get('/2')}`,
      statuses: [200, 400],
    },
  }
  for (const [what, { bytes, statuses, halfClose = false }] of Object.entries(endings))
    it(`behind a slow answer ${what}`, async (t) => {
      const server = await setUp(t, 'TCP')
      const client = server.open()
      client.write(get('/held') + bytes)
      if (halfClose) client.end()
      await server.begins(1)
      server.release()
      assert.deepEqual(
        (await answersOf(client)).map(({ status }) => status),
        statuses,
      )
    })

  it('go on when a body comes that was still missing', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open()
    const request = formatRequest('POST /', {}, 'body')
    client.write(get('/held') + request.slice(0, -2))
    await server.begins(1)
    server.release()
    await server.begins(2)
    client.write(request.slice(-2) + get('/last'))
    const bodies = (await answersOf(client, 3)).map(({ body }) => body)
    assert.deepEqual(bodies, ['/held', '4', '/last'])
  })

  for (const [when, begun] of Object.entries({ 'before they are read': 1, 'when they are read': 2 }))
    it(`are not late at a time that began before their turn, ${when}`, async (t) => {
      const server = await setUp(t, 'TCP')
      const client = server.open()
      client.write(get('/held') + formatRequest('POST /', { 'Content-Length': '4' }, 'bo'))
      await server.begins(1)
      if (begun === 1) server.reportTimeOut()
      server.release()
      await server.begins(2)
      if (begun === 2) server.reportTimeOut()
      client.write('dy')
      assert.deepEqual(
        (await answersOf(client, 2)).map(({ body }) => body),
        ['/held', '4'],
      )
    })

  it('have the full time for a body once it is read, and no more', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const server = await setUp(t, 'TCP')
    const client = server.open()
    client.write(get('/held') + formatRequest('POST /', { 'Content-Length': '4' }, 'bo'))
    await server.begins(1)
    server.release()
    await server.begins(2)
    t.mock.timers.tick(REQUEST_TIMEOUT_MS)
    const received = answersOf(client)
    await once(client, 'end')
    t.mock.timers.tick(LINGER_MS)
    assert.deepEqual(
      (await received).map(({ status }) => status),
      [200, 408],
    )
  })

  it('leave their connection idle, so that a server that stops closes it at once', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open()
    client.write(get('/held') + get('/1'))
    await server.begins(1)
    server.release()
    while (!String((await once(client, 'data'))[0]).endsWith('/1'));
    client.on('end', () => client.end())
    await server.listener.drain(60_000)
  })

  it('are dropped, without a reset of the connection, when the server stops', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open()
    const sent = get('/held') + numbered(1_000).join('')
    client.write(sent)
    await server.begins(1)
    const drained = server.listener.drain(60_000)
    server.release()
    const answers = await answersOf(client)
    assert.deepEqual(
      answers.map(({ body }) => body),
      ['/held'],
    )
    while ((await server.bytesRead()) < sent.length) await nextTurn()
    client.end()
    await drained
  })

  it('are forgotten when their connection is destroyed', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open().on('error', () => {})
    client.write(get('/held') + numbered(1_000).join(''))
    await server.begins(1)
    await server.listener.drain(0)
    server.release()
    for (let i = 0; i < 20; i += 1) await nextTurn()
    assert.equal(server.begun(), 1)
  })

  it('do not hide that the client of the first has gone', async (t) => {
    skipPauses(t, HALF_CLOSED_PROBE_MS)
    const server = await setUp(t, 'TCP')
    const client = server.open()
    client.write(get('/held') + get('/1'))
    await server.begins(1)
    client.destroy()
    const signal = await server.heldSignal
    if (!signal.aborted) await once(signal, 'abort')
    assert.equal(server.begun(), 1)
  })

  it('end their time for a body with the connection, so that nothing keeps what came', async (t) => {
    const begin = t.mock.method(globalThis, 'setTimeout')
    const end = t.mock.method(globalThis, 'clearTimeout')
    const server = await setUp(t, 'TCP')
    const client = server.open()
    client.write(get('/held') + formatRequest('POST /', { 'Content-Length': '4' }, 'bo'))
    await server.begins(1)
    server.release()
    await server.begins(2)
    const deadline = begin.mock.calls.find(({ arguments: [, ms] }) => ms === REQUEST_TIMEOUT_MS)?.result
    assert.ok(deadline)
    const hasEnded = () => end.mock.calls.some(({ arguments: [timer] }) => timer === deadline)
    assert.ok(!hasEnded())
    client.destroy()
    while (!hasEnded()) await nextTurn()
  })
})

describe('a body in chunks', () => {
  it('waits for the turn of its caller', async (t) => {
    const { scheduler, takeTurns, callers } = holdTurns()
    const server = await setUp(t, 'TCP', scheduler)
    const client = server.open()
    client.write(formatRequest('POST /', chunked, '1\r\na\r\n'.repeat(1_000)))
    await server.begins(1)
    client.write(`0\r\n\r\n${numbered(1_000).join('')}`)
    for (let i = 0; i < 50; i += 1) await nextTurn()
    assert.deepEqual(callers, ['127.0.0.1'])
    assert.ok((await server.bytesRead()) <= READ_BYTES_MAX)
    let isOver = false
    const answers = answersOf(client, 1_001).finally(() => {
      isOver = true
    })
    while (!isOver) {
      takeTurns()
      await nextTurn()
    }
    assert.deepEqual((await answers).length, 1_001)
  })

  it('waits for a turn with each read', async (t) => {
    const { scheduler, takeTurns, callers } = holdTurns()
    const server = await setUp(t, 'TCP', scheduler)
    const client = server.open()
    client.write(formatRequest('POST /', chunked))
    await server.begins(1)
    for (let turns = 1; turns <= 5; turns += 1) {
      assert.equal(callers.length, turns)
      takeTurns()
      client.write(turns === 5 ? '0\r\n\r\n' : '1\r\na\r\n'.repeat(100))
      while (callers.length === turns) await nextTurn()
    }
    takeTurns()
    assert.deepEqual(
      (await answersOf(client, 1)).map(({ body }) => body),
      ['400'],
    )
  })

  it('waits also when a connection ends that had the parser before', async (t) => {
    const { scheduler, takeTurns, callers } = holdTurns()
    const server = await setUp(t, 'TCP', scheduler)
    const tunnel = server.open()
    tunnel.write(formatRequest('CONNECT a:1'))
    // Node has taken its parser away by now, and gives it to the next connection.
    await once(tunnel, 'data')
    const client = server.open()
    client.write(formatRequest('POST /', chunked))
    await server.begins(1)
    takeTurns()
    const before = callers.length
    tunnel.end()
    await once(tunnel, 'close')
    client.write('1\r\na\r\n'.repeat(100))
    while (callers.length === before) await nextTurn()
    assert.equal(callers.at(-1), '127.0.0.1')
  })

  it('is refused from a stranger with a request for an upgrade, behind which nothing can wait', async (t) => {
    const server = await setUp(t, 'TCP')
    const client = server.open()
    const headers = { ...chunked, Connection: 'Upgrade', Upgrade: 'h2c' }
    client.write(formatRequest('POST /', headers, '1\r\na\r\n'.repeat(4_000)))
    assert.deepEqual(
      (await answersOf(client)).map(({ status }) => status),
      [400],
    )
  })

  it('that does not come to its end is given up at its time, also in the middle of a turn', async (t) => {
    const { scheduler, takeTurns } = holdTurns()
    const server = await setUp(t, 'TCP', scheduler)
    const client = server.open()
    client.write(formatRequest('POST /', chunked, '1\r\na\r\n'.repeat(1_000)))
    await server.begins(1)
    server.reportTimeOut()
    const received = answersOf(client)
    await once(client, 'end')
    takeTurns()
    assert.deepEqual(
      (await received).map(({ status }) => status),
      [408],
    )
  })
})
