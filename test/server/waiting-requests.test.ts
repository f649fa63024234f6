import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { WaitingRequests } from '../../src/server/waiting-requests.ts'

describe('requests that wait', () => {
  it('are counted over all connections, up to the maximum', () => {
    const waiting = new WaitingRequests(3)
    const [one, other] = [new Socket(), new Socket()]
    assert.deepEqual(
      [one, one, other, other].map((socket) => waiting.add(socket)),
      [true, true, true, false],
    )
    waiting.remove(one)
    assert.equal(waiting.add(other), true)
    assert.equal(waiting.add(one), false)
    assert.equal(waiting.count, 3)
  })

  it('are removed with their connection, once only', () => {
    const waiting = new WaitingRequests(10)
    const [one, other] = [new Socket(), new Socket()]
    for (const socket of [one, one, one, other]) waiting.add(socket)
    waiting.remove(one)
    one.emit('close')
    assert.equal(waiting.count, 1)
    waiting.remove(one)
    assert.equal(waiting.count, 1)
  })

  it('are counted once for a connection that waits again after an answer', () => {
    const waiting = new WaitingRequests(10)
    const socket = new Socket()
    waiting.add(socket)
    waiting.remove(socket)
    waiting.add(socket)
    socket.emit('close')
    assert.equal(waiting.count, 0)
  })
})
