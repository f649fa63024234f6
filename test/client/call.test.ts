import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { callOnSocket, callPlace, NoAnswerError, UnreachableError } from '../../src/client/call.ts'
import { socketPlace } from '../../src/client/place.ts'
import { CALL_ANSWER_BYTES_MAX } from '../../src/limits.ts'
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

const pieces = [Buffer.from('one,'), Buffer.alloc(1_000_000, 'x'), Buffer.from('two')]
const body = Buffer.concat(pieces)

describe('callOnSocket', () => {
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
    const path = await serve(
      t,
      () => assert.fail('the body is held back'),
      (request, response) => {
        request.on('data', (piece: Buffer) => (bytes += piece.length))
        response.writeHead(503, { Connection: 'close' }).end('busy')
      },
    )
    const { status, text } = await callOnSocket(path, { method: 'POST', path: '/', body: pieces })
    assert.deepEqual([status, text, bytes], [503, 'busy', 0])
  })

  it('tells that nobody listens', async (t) => {
    const path = join(await temporaryFolder(t), 'none')
    const call = callOnSocket(path, { method: 'GET', path: '/' })
    await assert.rejects(
      call,
      (error) => error instanceof UnreachableError && /\(ENOENT\)/.test(error.message),
    )
  })

  it('tells that the connection ended before the answer, or within it', async (t) => {
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

  it('tells that what answers is no server', async (t) => {
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

  it('sends nothing when its caller has given up before', async (t) => {
    let isAsked = false
    const path = await serve(t, (_, response) => {
      isAsked = true
      response.end()
    })
    const call = callPlace(socketPlace(path), { method: 'GET', path: '/' }, { signal: AbortSignal.abort() })
    await assert.rejects(call, NoAnswerError)
    assert.equal(isAsked, false)
  })
})
