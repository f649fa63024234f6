import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { type LiveBody, LivePiece, type LiveSink } from '../../src/http/message.ts'
import { Connections } from '../../src/server/connections.ts'
import { HeldBytes } from '../../src/server/held-bytes.ts'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { sendLive } from '../../src/server/reply.ts'
import { eventually } from '../support/eventually.ts'

async function listen(t: TestContext) {
  const connections = new Connections(10, () => {})
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close().closeAllConnections())
  server.on('connection', (socket) => connections.add(socket))
  await once(server, 'listening')
  return { server, connections }
}

/** A request that a client has sent to a server, and that nobody has answered yet. */
async function setUp(t: TestContext) {
  const { server, connections } = await listen(t)
  const asked = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const client = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false })
  client.on('error', () => {})
  const [, response] = await asked
  const untaken = new HeldBytes(Number.POSITIVE_INFINITY, connections, () => {}, 'answers')
  const request = { response, address: '127.0.0.1' } as unknown as IncomingRequest
  return { client, response, request, untaken }
}

/** Notes what is done with it. */
function notedBody() {
  const notes: string[] = []
  const begun = Promise.withResolvers<LiveSink>()
  const body: LiveBody = {
    begin(sink) {
      notes.push('begin')
      begun.resolve(sink)
    },
    drained: () => void notes.push('drained'),
    closed: () => void notes.push('closed'),
  }
  return { body, notes, begun: begun.promise }
}

describe('a live answer', () => {
  it('is over at once if its client has gone before it began', async (t) => {
    const { client, response, request, untaken } = await setUp(t)
    client.destroy()
    await once(response, 'close')
    const { body, notes } = notedBody()
    sendLive(body, request, untaken)
    assert.deepEqual(notes, ['closed'])
  })

  it('frames every piece in chunks for HTTP/1.1, and none for HTTP/1.0', async (t) => {
    const framed = 'b\r\nfirst piece\r\n6\r\nsecond\r\n5\r\nthird\r\n5\r\nthird\r\n0\r\n\r\n'
    for (const [version, expected] of [
      ['1.1', framed],
      ['1.0', 'first piecesecondthirdthird'],
    ]) {
      const { server, connections } = await listen(t)
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
      client.write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`)
      const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
      const { body, begun } = notedBody()
      response.writeHead(200, { Connection: 'close' })
      const untaken = new HeldBytes(Number.POSITIVE_INFINITY, connections, () => {}, 'answers')
      sendLive(body, { response, address: '127.0.0.1' } as unknown as IncomingRequest, untaken)
      const sink = await begun
      sink.send(new LivePiece(Buffer.from('first piece')))
      sink.send(new LivePiece(Buffer.from('second')))
      await new Promise((resolve) => setImmediate(resolve))
      const third = new LivePiece(Buffer.from('third'))
      sink.send(third)
      sink.send(third)
      assert.equal(third.chunk, third.chunk)
      sink.end()
      assert.equal((await text(client)).split(/\r\n\r\n(.*)/s)[1], expected)
    }
  })

  it('takes no more once its client has gone', async (t) => {
    const { client, response, request, untaken } = await setUp(t)
    const { body, notes, begun } = notedBody()
    sendLive(body, request, untaken)
    const sink = await begun
    sink.send(new LivePiece(Buffer.from('piece')))
    sink.cut()
    sink.send(new LivePiece(Buffer.from('piece')))
    await once(response, 'close')
    sink.send(new LivePiece(Buffer.from('piece')))
    sink.end()
    assert.deepEqual(notes, ['begin', 'closed'])
    assert.equal(sink.hasRoom, false)
    client.destroy()
  })

  it('counts what its reader does not take, once, and not what the system has taken', async (t) => {
    const { client, response, request, untaken } = await setUp(t)
    const { body, begun } = notedBody()
    response.writeHead(200, { Connection: 'close' })
    sendLive(body, request, untaken)
    const sink = await begun
    sink.send(new LivePiece(Buffer.alloc(64 * 1024)))
    const [answer] = (await once(client, 'response')) as [IncomingMessage]
    answer.pause()
    await eventually('the system takes it', () => untaken.bytes === 0)
    const piece = Buffer.alloc(16 * 1024 * 1024)
    sink.send(new LivePiece(piece))
    await new Promise((resolve) => process.nextTick(resolve))
    assert.ok(untaken.bytes > 0 && untaken.bytes < 1.1 * piece.length, String(untaken.bytes))
    const drained = once(response.req.socket, 'drain')
    answer.resume()
    await drained
    assert.equal(untaken.bytes, 0)
  })
})
