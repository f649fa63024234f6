import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { Problem } from '../../src/http/problem.ts'
import { BODY_PIECES_MAX } from '../../src/limits.ts'
import { IMPORT_PIECE_BYTES } from '../../src/server/body-reading.ts'
import { IncomingRequest } from '../../src/server/incoming-request.ts'
import { holdTurns } from '../support/held-turns.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'
import { incomingOf } from './incoming-of.ts'

describe('a body in tiny chunks', () => {
  const head = (authorization: string) =>
    formatRequest('POST /configurations/', {
      Authorization: authorization,
      Connection: 'close',
      'Transfer-Encoding': 'chunked',
    })
  const inChunks = (text: string) => text.replace(/./g, '1\r\n$&\r\n')

  it(`is read if there are at most ${BODY_PIECES_MAX}`, async (t) => {
    const { url, bearer } = await start(t)
    const json = '{"name":"tiny","hostname":"h","port":1,"username":"u"}'.padEnd(BODY_PIECES_MAX)
    const received = await sendRaw(url, `${head(await bearer())}${inChunks(json)}0\r\n\r\n`)
    assert.deepEqual(
      parseAnswers(received).map(({ status }) => status),
      [200],
    )
  })

  it('closes its connection if there are more', async (t) => {
    const { url, bearer, call } = await start(t)
    const authorization = await bearer()
    const bytes = `${head(authorization)}${inChunks(' '.repeat(BODY_PIECES_MAX + 1))}`
    const received = await sendRaw(url, bytes).catch(({ code }) => code)
    assert.ok(received === '' || received === 'ECONNRESET', received)
    const { status } = await call('/configurations/', { headers: { Authorization: authorization } })
    assert.equal(status, 200)
  })
})

describe('a body', () => {
  function setUp(fields: readonly (readonly [string, string])[]) {
    const incoming = incomingOf({ fields })
    const held = new Set<{ readonly bytes: number }>()
    const arriving = {
      add(_: unknown, bytes: number) {
        const part = { bytes }
        held.add(part)
        return () => void held.delete(part)
      },
    }
    const { scheduler } = holdTurns()
    const origin = { address: '192.0.2.1', isSecure: false }
    const parts = { scheduler, arriving }
    const request = new IncomingRequest(incoming, {} as ServerResponse, origin, 'r1', parts)
    return { incoming, request, held: () => Array.from(held, ({ bytes }) => bytes) }
  }

  for (const field of [['Content-Length', '5'] as const, ['Transfer-Encoding', 'chunked'] as const])
    it(`counts as held until it is there, with ${field[0]}`, async () => {
      const { incoming, request, held } = setUp([field])
      const reading = request.readBody()
      incoming.emit('data', Buffer.from('abc'))
      assert.deepEqual(held(), [3])
      incoming.emit('data', Buffer.from('d'))
      assert.deepEqual(held(), [4])
      incoming.emit('data', Buffer.from('e'))
      incoming.emit('end')
      assert.equal(String(await reading), 'abcde')
      assert.deepEqual(held(), [])
    })

  it('is not counted if it comes in one piece', async () => {
    const { incoming, request, held } = setUp([['Content-Length', '5']])
    const reading = request.readBody()
    incoming.emit('data', Buffer.from('abcde'))
    assert.deepEqual(held(), [])
    incoming.emit('end')
    await reading
  })

  it('does not count any more when its client has gone', async () => {
    const { incoming, request, held } = setUp([['Content-Length', '5']])
    const reading = request.readBody()
    incoming.emit('data', Buffer.from('abc'))
    incoming.emit('error', new Error('aborted'))
    incoming.emit('close')
    await assert.rejects(reading, Problem)
    assert.deepEqual(held(), [])
  })
})

describe('readPieces', () => {
  /** A request with these header fields, the pieces taken of its body, and the turns that it waits for. */
  function setUp(fields: readonly (readonly [string, string])[]) {
    const incoming = incomingOf({ fields })
    const flow: string[] = []
    Object.assign(incoming, { pause: () => flow.push('pause'), resume: () => flow.push('resume') })
    const { scheduler, waiting, takeTurns } = holdTurns()
    const origin = { address: '192.0.2.1', isSecure: false }
    const response = {} as ServerResponse
    const parts = { scheduler, arriving: { add: () => () => {} } }
    const request = new IncomingRequest(incoming, response, origin, 'r1', parts)
    const taken: number[] = []
    const take = (piece: Buffer) => void taken.push(piece.length)
    return { request, incoming, flow, waiting, taken, take, takeTurns }
  }
  const chunked = [['Transfer-Encoding', 'chunked']] as const

  it('splits a long piece into short ones, one for each turn, and pauses the request meanwhile', async () => {
    const { request, incoming, flow, waiting, taken, take, takeTurns } = setUp(chunked)
    const reading = request.readPieces(1_000_000, take)
    incoming.emit('data', Buffer.alloc(2 * IMPORT_PIECE_BYTES + 1))
    assert.deepEqual([flow, taken, waiting()], [['pause'], [], 1])
    takeTurns()
    assert.deepEqual(taken, [IMPORT_PIECE_BYTES, IMPORT_PIECE_BYTES, 1])
    assert.deepEqual(flow, ['pause', 'resume'])
    incoming.emit('end')
    await reading
  })

  it('counts what arrived, and the time in which it had nothing to take', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const { request, incoming, take, takeTurns } = setUp(chunked)
    const wait = (ms: number) => {
      now += ms
    }
    const look = () => [request.progress.bytes, request.progress.waitedMs]
    wait(1_000)
    const reading = request.readPieces(1_000_000, take)
    wait(10)
    incoming.emit('data', Buffer.alloc(IMPORT_PIECE_BYTES + 1))
    wait(100)
    assert.deepEqual(look(), [IMPORT_PIECE_BYTES + 1, 10])
    takeTurns()
    wait(20)
    assert.deepEqual(look(), [IMPORT_PIECE_BYTES + 1, 30])
    incoming.emit('end')
    await reading
    wait(100)
    assert.deepEqual(look(), [IMPORT_PIECE_BYTES + 1, 30])
  })

  it('ends only when its last piece has been taken', async () => {
    const { request, incoming, taken, take, takeTurns } = setUp(chunked)
    const reading = request.readPieces(1_000_000, take).then(() => taken.push(-1))
    incoming.emit('data', Buffer.alloc(3))
    incoming.emit('end')
    for (let i = 0; i < 10; i++) await Promise.resolve()
    assert.deepEqual(taken, [])
    takeTurns()
    await reading
    assert.deepEqual(taken, [3, -1])
  })

  it('is over at once if the connection has ended before', async () => {
    const { request, incoming, take } = setUp(chunked)
    Object.assign(incoming, { destroyed: true })
    await assert.rejects(request.readPieces(10, take), { code: 'incomplete_body' })
  })

  it('refuses a body by its Content-Length before it reads any of it', async () => {
    const { request, incoming, take } = setUp([['Content-Length', '11']])
    await assert.rejects(request.readPieces(10, take), { status: 413 })
    assert.equal(incoming.listenerCount('data'), 0)
  })

  it('takes nothing of the piece that makes a body too long', async () => {
    const { request, incoming, taken, take, takeTurns } = setUp(chunked)
    const refused = assert.rejects(request.readPieces(10, take), { status: 413 })
    for (const bytes of [10, 1]) {
      incoming.emit('data', Buffer.alloc(bytes))
      takeTurns()
    }
    await refused
    assert.deepEqual(taken, [10])
  })

  it('rejects with what the taker throws, and takes nothing more', async () => {
    const { request, incoming, takeTurns } = setUp(chunked)
    let calls = 0
    const reading = request.readPieces(100, () => {
      calls += 1
      throw new Error('made by the test')
    })
    const refused = assert.rejects(reading, /made by the test/)
    incoming.emit('data', Buffer.alloc(1))
    takeTurns()
    incoming.emit('data', Buffer.alloc(1))
    takeTurns()
    await refused
    assert.equal(calls, 1)
  })

  it('rejects for every reader, now or later, when the body is broken off', async () => {
    const { request, take } = setUp(chunked)
    const problem = new Problem('malformed_request', 'made by the test')
    const waiting = assert.rejects(request.readPieces(10, take), problem)
    request.breakOff(problem)
    await waiting
    await assert.rejects(request.readPieces(10, take), problem)
    assert.equal(request.isBodyRefused, true)
  })
})
