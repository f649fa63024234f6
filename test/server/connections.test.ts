import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Connections } from '../../src/server/connections.ts'

const MAX = 3

function setUp() {
  const sockets = Array.from({ length: 8 }, () => new Socket())
  const gaveWay: number[] = []
  const connections = new Connections(MAX, (socket) => gaveWay.push(sockets.indexOf(socket)))
  const at = (position: number) => sockets[position] ?? assert.fail('there are only 8')
  const add = (...positions: number[]) => positions.forEach((position) => void connections.add(at(position)))
  return { connections, at, add, gaveWay }
}

describe('open connections', () => {
  it('give way, the one that has been quiet for longest, when there is one too many', () => {
    const { connections, at, add, gaveWay } = setUp()
    add(0, 1, 2)
    assert.deepEqual(gaveWay, [])
    connections.touch(at(0))
    add(3)
    assert.deepEqual(gaveWay, [1])
    assert.ok(at(1).destroyed)
    add(4)
    assert.deepEqual(gaveWay, [1, 2])
  })

  it('give way only to one of their own kind when they have shown a good credential', () => {
    const { connections, at, add, gaveWay } = setUp()
    add(0, 1)
    connections.trust(at(0))
    connections.trust(at(1))
    add(2, 3, 4)
    assert.deepEqual(gaveWay, [2, 3])
    connections.trust(at(4))
    connections.touch(at(0))
    add(5)
    assert.deepEqual(gaveWay, [2, 3, 1])
  })

  it('leave their place when they end', async () => {
    const { at, add, gaveWay } = setUp()
    add(0, 1, 2)
    const closed = new Promise((resolve) => at(1).once('close', resolve))
    at(1).destroy()
    await closed
    add(3)
    assert.deepEqual(gaveWay, [])
  })
})
