import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Connection } from '../../src/server/connection.ts'
import { WaitingRequests } from '../../src/server/waiting-requests.ts'

const response = {} as ServerResponse
const connect = () => new Connection(new Socket(), '192.0.2.1')

describe('requests that wait', () => {
  it('are counted over all connections, up to the maximum', () => {
    const waiting = new WaitingRequests(3)
    const [one, other] = [connect(), connect()]
    assert.deepEqual(
      [one, one, other, other].map((connection) => waiting.add(connection, response)),
      [true, true, true, false],
    )
    waiting.take(one)
    assert.equal(waiting.add(other, response), true)
    assert.equal(waiting.add(one, response), false)
    assert.equal(waiting.count, 3)
  })

  it('are taken in the order in which they came, each connection on its own', () => {
    const waiting = new WaitingRequests(10)
    const [one, other] = [connect(), connect()]
    const [first, second, third] = [{}, {}, {}] as ServerResponse[]
    assert.ok(first && second && third)
    waiting.add(one, first)
    waiting.add(other, second)
    waiting.add(one, third)
    assert.equal(one.lastWaiting, third)
    const taken = [one, one, one, other].map((connection) => waiting.take(connection))
    assert.deepEqual(
      taken.map((found) => found && [first, second, third].indexOf(found)),
      [0, 2, undefined, 1],
    )
    assert.deepEqual([one.lastWaiting, waiting.count], [undefined, 0])
  })

  it('are forgotten with their connection, once only', () => {
    const waiting = new WaitingRequests(10)
    const [one, other] = [connect(), connect()]
    for (const connection of [one, one, one, other]) waiting.add(connection, response)
    waiting.take(one)
    one.socket.emit('close')
    assert.equal(waiting.count, 1)
    assert.equal(waiting.take(one), undefined)
    assert.equal(waiting.count, 1)
  })

  it('are counted once for a connection that waits again after an answer', () => {
    const waiting = new WaitingRequests(10)
    const connection = connect()
    waiting.add(connection, response)
    waiting.take(connection)
    waiting.add(connection, response)
    connection.socket.emit('close')
    assert.equal(waiting.count, 0)
  })
})
