import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { createRequestOrder } from '../../src/server/request-order.ts'
import { incomingOf } from './incoming-of.ts'
import { oneConnection } from './one-connection.ts'

/** The requests that arrive on one connection, and the paths of those that have begun. */
function setUp(t: TestContext, address?: string) {
  const { socket, connection, parts, takeTurns, callers } = oneConnection(t, address)
  const begun: string[] = []
  const listener = createRequestOrder(parts, undefined, (_, { path }) => void begun.push(path))
  const comeIn = (url: string, on = socket) => {
    const incoming = Object.assign(incomingOf({ url }), { socket: on })
    const answer = Object.assign(new EventEmitter(), { closed: false, req: incoming })
    const response = answer as unknown as ServerResponse
    listener(incoming, response)
    return {
      end() {
        Object.assign(response, { closed: true })
        response.emit('close')
      },
    }
  }
  return { socket, connection, comeIn, takeTurns, callers, begun }
}

describe('the requests of a connection', () => {
  it('are begun one after the other, each in its turn', (t) => {
    const { comeIn, takeTurns, begun } = setUp(t)
    const first = comeIn('/1')
    const second = comeIn('/2')
    takeTurns()
    assert.deepEqual(begun, ['/1'])
    first.end()
    assert.deepEqual(begun, ['/1'])
    takeTurns()
    assert.deepEqual(begun, ['/1', '/2'])
    const third = comeIn('/3')
    second.end()
    takeTurns()
    assert.deepEqual(begun, ['/1', '/2', '/3'])
    third.end()
    comeIn('/4')
    assert.equal(begun.length, 4)
  })

  it('stop their connection while one waits, and cost it if Node parses another all the same', (t) => {
    const { socket, connection, comeIn } = setUp(t)
    comeIn('/1')
    assert.deepEqual([socket.isPaused(), connection.isStopped], [false, false])
    comeIn('/2')
    assert.deepEqual([socket.isPaused(), connection.isStopped], [true, true])
    comeIn('/3')
    assert.equal(socket.destroyed, true)
  })

  it('are not let go by what Node does when an answer has room', (t) => {
    const { socket, comeIn } = setUp(t)
    const node = Object.assign(socket, { _paused: true })
    comeIn('/1')
    comeIn('/2')
    assert.equal(node._paused, false)
  })

  it('wait in the turn of the account that has used their connection', (t) => {
    const { connection, comeIn, callers } = setUp(t)
    connection.account = 'user a'
    const first = comeIn('/1')
    comeIn('/2')
    first.end()
    assert.deepEqual(callers, ['user a'])
  })

  it('wait in the turn of the network that they come from', (t) => {
    const { comeIn, callers } = setUp(t, '2001:db8::1')
    const first = comeIn('/1')
    comeIn('/2')
    first.end()
    assert.deepEqual(callers, ['20010db800000000/64'])
  })

  it('are not begun when the connection has gone', (t) => {
    const { socket, comeIn, takeTurns, begun } = setUp(t)
    const first = comeIn('/1')
    comeIn('/2')
    socket.destroy()
    first.end()
    comeIn('/3')
    takeTurns()
    assert.deepEqual(begun, ['/1'])
  })

  it('are not begun on an unknown connection', (t) => {
    const { comeIn, begun } = setUp(t)
    const stranger = new Socket()
    comeIn('/1', stranger)
    assert.deepEqual([begun, stranger.destroyed], [[], true])
  })
})
