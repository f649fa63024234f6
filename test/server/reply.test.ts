import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { Reply, Request } from '../../src/http/message.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { TlsTexts } from '../../src/server/http-server.ts'
import { Listener } from '../../src/server/listener.ts'
import { makeCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { formatRequest, sendRaw } from '../support/raw-http.ts'

/** A listener whose replies come from the test. */
async function listen(t: TestContext, app: (request: Request) => Reply | Promise<Reply>, tls?: TlsTexts) {
  const log = createMemoryLog()
  const listener = new Listener({ app, scheduler: new Scheduler(), log, hasAccessLog: false, tls })
  const drain = (timeoutMs: number) => listener.drain(timeoutMs)
  t.after(() => drain(0))
  const { port = 0 } = (await listener.listen({ port: 0, host: '127.0.0.1' })) ?? {}
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, port, drain, log }
}

function open(t: TestContext, port: number, bytes: string): Socket {
  const socket = connect({ host: '127.0.0.1', port })
  t.after(() => void socket.destroy())
  socket.write(bytes)
  return socket
}

const ok = (body: Reply['body'], headers = {}): Reply => ({ status: 200, headers, ...(body && { body }) })
const get = formatRequest('GET /')
const oldGet = 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'

async function* slowly(...pieces: string[]) {
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve))
    yield piece
  }
}

/** A body that waits for its next piece until it is ended; counts the calls. */
function waiting() {
  const { promise, resolve } = Promise.withResolvers<IteratorResult<string, undefined>>()
  const calls = { next: 0, return: 0 }
  const body: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        calls.next += 1
        return promise
      },
      async return() {
        calls.return += 1
        resolve({ done: true, value: undefined })
        return { done: true, value: undefined }
      },
    }),
  }
  return { body, calls }
}

/** An endless body, the number of pieces requested, and whether it was ended. */
function endless() {
  const state = { pieces: 0, isEnded: false }
  async function* make() {
    try {
      for (;;) {
        state.pieces += 1
        yield 'x'.repeat(10_000)
      }
    } finally {
      state.isEnded = true
    }
  }
  return { body: make(), state }
}

describe('a reply without length', () => {
  for (const [what, body] of [
    ['an asynchronous body', () => slowly('a', '', 'é')],
    ['a body in pieces', () => ['a', '', 'é']],
  ] as const) {
    it(`is sent in chunks, and followed by the next answer: ${what}`, async (t) => {
      const { url } = await listen(t, ({ path }) => ok(path === '/' ? body() : 'next'))
      const received = await sendRaw(url, get + formatRequest('GET /next', { Connection: 'close' }))
      const [first = '', second] = received.split('0\r\n\r\n')
      assert.match(first, /^transfer-encoding: chunked\r$/im)
      assert.match(first, /\r\n\r\n1\r\na\r\n2\r\n\u00c3\u00a9\r\n$/)
      assert.doesNotMatch(first, /^(content-length|connection: close)/im)
      assert.match(second ?? '', /^HTTP\/1\.1 200 OK\r\n(.+\r\n)+\r\nnext$/)
    })

    it(`closes its connection in HTTP/1.0, and no later request is begun: ${what}`, async (t) => {
      let requests = 0
      const { url } = await listen(t, () => {
        requests += 1
        return ok(body())
      })
      const received = await sendRaw(url, oldGet + oldGet)
      assert.match(received, /^connection: close\r$/im)
      assert.doesNotMatch(received, /^transfer-encoding/im)
      assert.match(received, /\r\n\r\na\u00c3\u00a9$/)
      assert.equal(requests, 1)
    })
  }

  it('also closes its connection in HTTP/1.0 when it has no body', async (t) => {
    let requests = 0
    const { url } = await listen(t, () => {
      requests += 1
      return { status: 304, headers: {} }
    })
    assert.match(await sendRaw(url, oldGet + oldGet), /^connection: close\r$/im)
    assert.equal(requests, 1)
  })

  it('keeps its connection in HTTP/1.0 when the handler sets Content-Length', async (t) => {
    const { url } = await listen(t, () => ok(slowly('a', 'b'), { 'Content-Length': '2' }))
    const received = await sendRaw(url, oldGet + oldGet, { halfClose: true })
    assert.equal(received.match(/\r\n\r\nab/g)?.length, 2)
  })

  it('sends its head before its first piece', async (t) => {
    const { body, calls } = waiting()
    const { url } = await listen(t, () => ok(body, { 'Content-Type': 'text/event-stream' }))
    await sendRaw(url, get, { until: (received) => received.includes('\r\n\r\n') })
    await eventually('the piece is asked for', () => calls.next === 1)
  })

  it('has no body for HEAD, asks for none, and keeps its connection', async (t) => {
    const { body, calls } = waiting()
    const { url } = await listen(t, () => ok(body))
    const head = formatRequest('HEAD /')
    const received = await sendRaw(url, head + head, { halfClose: true })
    assert.equal(received.match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 2)
    assert.ok(received.endsWith('\r\n\r\n'))
    assert.equal(calls.next, 0)
  })
})

describe('a body in pieces', () => {
  it('is produced no faster than it is read, and ended when its client goes', async (t) => {
    const { body, state } = endless()
    const { port } = await listen(t, () => ok(body))
    const socket = open(t, port, get).pause()
    let before = -1
    await eventually('no more is made', () => {
      const isStill = state.pieces > 0 && state.pieces === before
      before = state.pieces
      return isStill
    })
    assert.ok(state.pieces < 5_000, `${state.pieces}`)
    socket.resume()
    const made = state.pieces
    await eventually('it goes on', () => state.pieces > made + 100)
    assert.equal(state.isEnded, false)
    socket.resetAndDestroy()
    await eventually('it is ended', () => state.isEnded)
  })

  it('is ended at once when its client goes while a piece is awaited', async (t) => {
    const { body, calls } = waiting()
    const { port, log } = await listen(t, () => ok(body))
    const socket = open(t, port, get)
    await eventually('the piece is asked for', () => calls.next === 1)
    socket.resetAndDestroy()
    await eventually('it is ended', () => calls.return === 1)
    assert.deepEqual([calls, log.events], [{ next: 1, return: 1 }, []])
  })

  it('is ended when its client has gone before it began', async (t) => {
    const { body, calls } = waiting()
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const asked = Promise.withResolvers<AbortSignal>()
    const { port } = await listen(t, ({ signal }) => {
      asked.resolve(signal)
      return promise
    })
    const socket = open(t, port, get)
    const signal = await asked.promise
    const gone = once(signal, 'abort')
    socket.resetAndDestroy()
    await gone
    resolve(ok(body))
    await eventually('it is ended', () => calls.return === 1)
    assert.equal(calls.next, 0)
  })

  async function* failing() {
    yield 'a'
    throw new Error('no more')
  }

  it('that fails omits the last chunk, and is logged', async (t) => {
    const { url, log } = await listen(t, () => ok(failing()))
    assert.match(await sendRaw(url, get), /\r\n\r\n1\r\na\r\n$/)
    await eventually('it is told', () => log.events.includes('reply_failed'))
    assert.match(log.lines[0] ?? '', /"request_id":"[^"]+","reason":"Error: no more/)
  })

  it('that fails resets the connection if only its close ends a body', async (t) => {
    const { url } = await listen(t, () => ok(failing()))
    await assert.rejects(sendRaw(url, oldGet), { code: 'ECONNRESET' })
  })

  it('that fails breaks off the TLS connection', async (t) => {
    const { url, log } = await listen(t, () => ok(failing()), await makeCertificate(t))
    const received = await sendRaw(url, get).catch((error: Error) => error.message)
    assert.ok(!received.includes('0\r\n\r\n'))
    assert.deepEqual(log.events, ['reply_failed'])
  })

  it('that cannot be ended is logged, and the server goes on', async (t) => {
    const next = Promise.withResolvers<never>()
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: () => next.promise,
        return: () => {
          next.reject(new Error('no next'))
          return Promise.reject(new Error('no return'))
        },
      }),
    }
    const { port, log, url } = await listen(t, ({ path }) => ok(path === '/' ? body : 'next'))
    const socket = open(t, port, get)
    await once(socket, 'data')
    socket.resetAndDestroy()
    await eventually('it is told', () => log.events.includes('reply_failed'))
    assert.match(await sendRaw(url, formatRequest('GET /next'), { halfClose: true }), /next$/)
  })
})

describe('a body in pieces, when the server stops,', () => {
  it('is sent to its end, and its connection then closes', async (t) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    async function* body() {
      yield 'a'
      yield await promise
    }
    const { port, drain } = await listen(t, () => ok(body()))
    const socket = open(t, port, get).setEncoding('latin1')
    let received = ''
    socket.on('data', (text) => {
      received += text
    })
    await eventually('it has begun', () => received.endsWith('a\r\n'))
    const drained = drain(60_000)
    resolve('b')
    await Promise.all([drained, once(socket, 'end')])
    assert.match(received, /\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n$/)
  })

  it('is cut off and ended when the time is over', async (t) => {
    const { body, calls } = waiting()
    const { port, drain } = await listen(t, () => ok(body))
    open(t, port, get).on('error', () => {})
    await eventually('the piece is asked for', () => calls.next === 1)
    await drain(50)
    await eventually('it is ended', () => calls.return === 1)
  })
})

describe('a body of bytes', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)

  it('is sent unchanged with its length, and without it to HEAD', async (t) => {
    const { url } = await listen(t, () => ok(bytes))
    const requests = `${get}${formatRequest('HEAD /')}${formatRequest('GET /', { Connection: 'close' })}`
    const received = await sendRaw(url, requests)
    const heads = received.match(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/g) ?? []
    assert.equal(heads.length, 3)
    for (const head of heads) assert.match(head, /\r\nContent-Length: 256\r\n/)
    const text = Buffer.from(bytes).toString('latin1')
    const [first = '', second = '', third = ''] = heads
    assert.equal(received, first + text + second + third + text)
  })
})

describe('a header of a reply', () => {
  const own = { 'content-security-policy': "default-src 'self'", 'REFERRER-POLICY': 'origin', ETag: '"a"' }
  for (const [what, body] of [
    ['a text', 'a'],
    ['pieces', ['a']],
    ['nothing', undefined],
  ] as const) {
    it(`replaces the one that every answer carries, regardless of case: with ${what}`, async (t) => {
      const { url } = await listen(t, () => ok(body, own))
      const received = await sendRaw(url, get, { halfClose: true })
      const lines = received.slice(0, received.indexOf('\r\n\r\n')).split('\r\n').slice(1)
      const headers = lines.map((line) => line.toLowerCase()).filter((line) => /^(x-co|c.*y:|r|e)/.test(line))
      assert.deepEqual(headers.sort(), [
        "content-security-policy: default-src 'self'",
        'etag: "a"',
        'referrer-policy: origin',
        'x-content-type-options: nosniff',
      ])
    })
  }
})
