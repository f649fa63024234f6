import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import { inTurns } from '../../src/server/streamed-body.ts'

/** What is written of a body of two pieces, and what becomes of its connection. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const socket = { isDestroyed: false, destroy: () => void Object.assign(socket, { isDestroyed: true }) }
  const response = Object.assign(new EventEmitter(), { closed: false, req: { socket } })
  const pieces = inTurns(['a', 'b'], (work) => work(), response as unknown as ServerResponse)
  return { socket, response, pieces }
}

describe('an answer in pieces', () => {
  it('ends its connection when a piece is not taken in time', async (t) => {
    const { socket, pieces } = setUp(t)
    await pieces.next()
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(socket.isDestroyed, false)
    t.mock.timers.tick(1)
    assert.equal(socket.isDestroyed, true)
  })

  it('gives each piece its own time', async (t) => {
    const { socket, pieces } = setUp(t)
    await pieces.next()
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    await pieces.next()
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(socket.isDestroyed, false)
  })

  it('ends its connection when the end, for which there was room here, is not taken in time', async (t) => {
    const { socket, pieces } = setUp(t)
    for await (const _ of pieces);
    t.mock.timers.tick(TAKING_TIMEOUT_MS)
    assert.equal(socket.isDestroyed, true)
  })

  it('leaves a connection alone whose answer has been taken', async (t) => {
    const { socket, response, pieces } = setUp(t)
    for await (const _ of pieces);
    response.emit('close')
    t.mock.timers.tick(TAKING_TIMEOUT_MS)
    assert.equal(socket.isDestroyed, false)
  })
})
