import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  CALL_ANSWER_BYTES_MAX,
  CALL_CONTINUE_MS,
  callEndpoint,
  NoAnswerError,
  openCall,
  UnreachableError,
} from '../../src/client/call.ts'
import { socketEndpoint } from '../../src/client/endpoint.ts'
import type { Call } from '../../src/client/messages.ts'
import { holdTimers } from '../support/held-timers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function serve(t: TestContext, answer: RequestListener, expected: RequestListener = answer) {
  const path = join(await temporaryFolder(t), 's')
  const server = createServer(answer).on('checkContinue', expected).listen(path)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return path
}

/** The server's answer to `Expect`, for a request without it. */
const unexpected = () => assert.fail('the body is held back')

const pieces = [Buffer.from('one,'), Buffer.alloc(1_000_000, 'x'), Buffer.from('two')]
const body = Buffer.concat(pieces)

describe('the body of an answer', () => {
  /** A server that sends a piece of its answer each time that it is told to. */
  async function openPieces(t: TestContext) {
    const { promise: response, resolve } = Promise.withResolvers<ServerResponse>()
    const path = await serve(t, (_, answer) => {
      answer.writeHead(200)
      answer.write('first')
      resolve(answer)
    })
    const tick = holdTimers(t)
    const answer = await openCall(socketEndpoint(path), { method: 'GET', path: '/' }, { silenceMs: 1_000 })
    const reading = answer.body[Symbol.asyncIterator]()
    assert.equal(String((await reading.next()).value), 'first')
    return { response: await response, reading, tick }
  }

  it('of a long answer may be read slowly', async (t) => {
    const { response, reading, tick } = await openPieces(t)
    for (const piece of ['second', 'third']) {
      tick(5_000)
      const next = reading.next()
      tick(999)
      response.write(piece)
      assert.equal(String((await next).value), piece)
    }
    response.end()
    assert.equal((await reading.next()).done, true)
  })

  it('is given up while a server that is waited for is silent, also after a slow look at a piece', async (t) => {
    const { reading, tick } = await openPieces(t)
    tick(5_000)
    const next = reading.next()
    const silent = assert.rejects(
      next,
      (error) => error instanceof NoAnswerError && /silent for 1 s/.test(error.message),
    )
    tick(1_000)
    await silent
  })

  it('ends the connection when its reader leaves', async (t) => {
    const { response, reading } = await openPieces(t)
    const closed = once(response, 'close')
    await reading.return?.(undefined)
    await closed
  })
})

/** @param silenceMs As in `CallOptions`. */
function callOnSocket(path: string, call: Call, silenceMs?: number) {
  return callEndpoint(socketEndpoint(path), call, silenceMs === undefined ? {} : { silenceMs })
}

describe('callEndpoint', () => {
  it('sends a body once the server wants it, and returns the answer', async (t) => {
    const path = await serve(t, async (request, response) => {
      if (request.headers.expect !== undefined) response.writeContinue()
      const got = Buffer.concat(await request.toArray())
      const { 'content-length': length, host, 'x-own': own } = request.headers
      response.writeHead(201, { 'X-Told': [request.method, request.url, length, host, own].join() })
      response.end(got.equals(body) ? 'é' : 'not the body')
    })
    const call = { method: 'POST', path: '/a?b=c', headers: { 'X-Own': 'yes' }, body: pieces } as const
    const { status, headers, text } = await callOnSocket(path, call)
    assert.deepEqual([status, text], [201, 'é'])
    assert.equal(headers['x-told'], `POST,/a?b=c,${body.length},localhost,yes`)
  })

  it('sends nothing of a body that the server refuses', async (t) => {
    let bytes = 0
    const path = await serve(t, unexpected, (request, response) => {
      request.on('data', (piece: Buffer) => (bytes += piece.length))
      response.writeHead(503, { Connection: 'close' }).end('busy')
    })
    const { status, text } = await callOnSocket(path, { method: 'POST', path: '/', body: pieces })
    assert.deepEqual([status, text, bytes], [503, 'busy', 0])
  })

  it('sends a body to a server that never says whether it wants it, after a while', async (t) => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const path = await serve(t, unexpected, async (request, response) => {
      resolve()
      response.end(Buffer.concat(await request.toArray()).equals(body) ? 'all' : 'not the body')
    })
    const tick = holdTimers(t)
    const call = callOnSocket(path, { method: 'POST', path: '/', body: pieces })
    await asked
    tick(CALL_CONTINUE_MS)
    assert.equal((await call).text, 'all')
  })

  it('gives the answer of a server that does not read the body to its end', async (t) => {
    const path = await serve(t, unexpected, (request, response) => {
      response.writeContinue()
      request.once('data', () => {
        response.writeHead(413, { Connection: 'close' }).end('too long', () => request.socket.destroy())
      })
    })
    const long = Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024))
    const { status, text } = await callOnSocket(path, { method: 'POST', path: '/', body: long })
    assert.deepEqual([status, text], [413, 'too long'])
  })

  it('gives up on a server that is silent for too long before the body, which it is not sent then', async (t) => {
    let bytes = 0
    const path = await serve(t, unexpected, (request) => {
      request.on('data', (piece: Buffer) => (bytes += piece.length))
    })
    const call = callOnSocket(path, { method: 'POST', path: '/', body: pieces }, 1)
    await assert.rejects(call, (error) => error instanceof NoAnswerError && /was silent/.test(error.message))
    assert.equal(bytes, 0)
  })

  it('reports that nobody listens', async (t) => {
    const path = join(await temporaryFolder(t), 'none')
    const call = callOnSocket(path, { method: 'GET', path: '/' })
    await assert.rejects(
      call,
      (error) => error instanceof UnreachableError && /\(ENOENT\)/.test(error.message),
    )
  })

  it('reports that the connection ended before the answer, or within it', async (t) => {
    const unanswered = await serve(t, (request) => void request.socket.destroy())
    const cut = await serve(t, (request, response) => {
      response.writeHead(200, { 'Content-Length': 100 })
      response.write('part', () => request.socket.destroy())
    })
    const said = [
      [unanswered, /gave no answer/],
      [cut, /did not finish its answer/],
    ] as const
    for (const [path, message] of said) {
      const call = callOnSocket(path, { method: 'POST', path: '/', body: pieces })
      await assert.rejects(call, (error) => error instanceof NoAnswerError && message.test(error.message))
    }
  })

  it('reports that what answers does not speak HTTP', async (t) => {
    const path = join(await temporaryFolder(t), 's')
    const server = createPlainServer((socket) => socket.end('220 mail.example ESMTP\r\n')).listen(path)
    t.after(() => void server.close())
    await once(server, 'listening')
    await assert.rejects(callOnSocket(path, { method: 'GET', path: '/' }), NoAnswerError)
  })

  it('gives up on a silent server', async (t) => {
    const path = await serve(t, () => {})
    const call = callOnSocket(path, { method: 'GET', path: '/' }, 1)
    await assert.rejects(call, (error) => error instanceof NoAnswerError && /was silent/.test(error.message))
  })

  it('does not keep an answer that is too long', async (t) => {
    const path = await serve(t, (_, response) => response.end(Buffer.alloc(CALL_ANSWER_BYTES_MAX + 1)))
    await assert.rejects(callOnSocket(path, { method: 'GET', path: '/' }), /The answer is longer than/)
  })

  it('sends nothing when its caller gave up before it began', async (t) => {
    let isAsked = false
    const path = await serve(t, (_, response) => {
      isAsked = true
      response.end()
    })
    const call = callEndpoint(
      socketEndpoint(path),
      { method: 'GET', path: '/' },
      { signal: AbortSignal.abort() },
    )
    await assert.rejects(call, NoAnswerError)
    assert.equal(isAsked, false)
  })
})
