import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Reply } from '../../src/http/message.ts'
import { WRITE_SCOPE } from '../../src/http/scope.ts'
import { IncomingRequest } from '../../src/server/incoming-request.ts'
import { createAnswering, REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { type Head, incomingOf } from './incoming-of.ts'
import { oneConnection } from './one-connection.ts'

/** Answers one request with the reply of the test, and records what is written. */
function setUp(t: TestContext, reply: Reply | Promise<Reply>, head: Head = {}) {
  const { socket, connection, parts, takeTurns } = oneConnection(t)
  const server = { listening: true }
  let calls = 0
  const app = () => {
    calls += 1
    return reply
  }
  const answer = createAnswering(parts, app, server as Server, false)
  const incoming = incomingOf(head)
  const written: { status?: number; headers?: string[]; isDestroyed?: boolean } = {}
  const response = Object.assign(new EventEmitter(), {
    req: { socket },
    shouldKeepAlive: true,
    writeHead: (status: number, _: string, headers: string[]) => Object.assign(written, { status, headers }),
    end() {},
    destroy: () => Object.assign(written, { isDestroyed: true }),
  }) as unknown as ServerResponse
  const request = new IncomingRequest(incoming, response, connection.origin, 'r1', parts)
  return {
    ...{ parts, server, connection, request, response, takeTurns, written, calls: () => calls },
    answer: () => answer(incoming, request, connection),
    closes: () => written.headers?.join(': ').endsWith('Connection: close'),
    inFlight: () =>
      [...(parts.metrics.families.find(({ name }) => name.endsWith('in_flight'))?.samples() ?? [])][0]?.value,
  }
}

const ok: Reply = { status: 200, headers: {} }

describe('createAnswering', () => {
  it('sends the reply at once, keeps the connection and counts the request', (t) => {
    const { answer, written, connection, closes, inFlight } = setUp(t, ok)
    answer()
    assert.deepEqual([written.status, closes(), connection.isClosing, inFlight()], [200, false, false, 0])
  })

  it('counts the records that a body in pieces keeps, until it has been taken', async (t) => {
    const keeps = { revision: 7, records: 1, jsonBytes: 50 }
    const { answer, parts, response, takeTurns } = setUp(t, { ...ok, body: ['a', 'b'], keeps })
    const end = t.mock.fn()
    const add = t.mock.method(parts.kept, 'add', () => end)
    answer()
    assert.deepEqual(
      add.mock.calls.map(({ arguments: [, kept] }) => kept),
      [keeps],
    )
    await nextTurn()
    assert.equal(end.mock.callCount(), 0)
    Object.assign(response, { closed: true })
    response.emit('close')
    takeTurns()
    await nextTurn()
    assert.equal(end.mock.callCount(), 1)
  })

  it('marks a connection as authenticated, also when that is known only with the answer', async (t) => {
    const later = Promise.withResolvers<Reply>()
    const { answer, parts, request } = setUp(t, later.promise)
    const trust = t.mock.method(parts.connections, 'trust')
    answer()
    assert.equal(trust.mock.callCount(), 0)
    request.principal = { kind: 'user', name: 'admin', scope: WRITE_SCOPE }
    later.resolve(ok)
    await nextTurn()
    assert.equal(trust.mock.callCount(), 1)
  })

  it('holds back every reply that says when to try again, also one that is known at once', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { answer, written } = setUp(t, { status: 503, headers: { 'Retry-After': '1' } })
    answer()
    assert.equal(written.status, undefined)
    t.mock.timers.tick(REFUSAL_PAUSE_MS)
    assert.equal(written.status, 503)
  })

  it('refuses bad framing without asking the app, and ends the connection', (t) => {
    const { answer, written, connection, closes, calls } = setUp(t, ok, { url: '//a' })
    answer()
    assert.deepEqual([written.status, closes(), connection.isClosing, calls()], [400, true, true, 0])
  })

  it('closes the connection after an upgrade request, and once the server stops listening', (t) => {
    const upgraded = setUp(t, ok, {
      fields: [
        ['Host', 'a'],
        ['Upgrade', 'h2c'],
      ],
    })
    upgraded.answer()
    assert.deepEqual([upgraded.written.status, upgraded.closes()], [200, true])
    const stopping = setUp(t, ok)
    stopping.server.listening = false
    stopping.answer()
    assert.deepEqual([stopping.written.status, stopping.closes()], [200, true])
  })

  it('begins nothing on a connection that is closing or gone', (t) => {
    const closing = setUp(t, ok)
    closing.connection.isClosing = true
    const gone = setUp(t, ok)
    gone.connection.socket.destroy()
    for (const { answer, calls, inFlight } of [closing, gone]) {
      answer()
      assert.deepEqual([calls(), inFlight()], [0, 0])
    }
  })

  it('delays an answer that tells the client to come back later', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const busy = Promise.resolve({ status: 503, headers: { 'Retry-After': '1' } })
    const { answer, written, inFlight } = setUp(t, busy)
    answer()
    for (let i = 0; i < 10; i++) await Promise.resolve()
    t.mock.timers.tick(REFUSAL_PAUSE_MS - 1)
    assert.deepEqual([written.status, inFlight()], [undefined, 1])
    t.mock.timers.tick(1)
    assert.deepEqual([written.status, inFlight()], [503, 0])
  })

  it('closes a connection to which a reply cannot be sent, and logs the reason', (t) => {
    const { answer, written, parts, inFlight } = setUp(t, { status: 200, headers: {}, body: 7 as never })
    answer()
    assert.equal(written.isDestroyed, true)
    const { event, request_id } = JSON.parse(parts.log.lines[0] ?? '')
    assert.deepEqual([event, request_id, inFlight()], ['reply_failed', 'r1', 0])
  })
})
