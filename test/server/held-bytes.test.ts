import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { HELD_STALLED_MS } from '../../src/server/held-bytes.ts'
import { holders } from './untaken.ts'

const MAX = 800
const KEPT = 700

/** Holders with a clock of the test, and the names of the connections that were cut off. */
function setUp(t: TestContext) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { untaken, open, cut, reasons } = holders(t, MAX)
  const names = new Map<Socket, string>()
  return {
    untaken,
    reasons,
    cut: () => cut.map((socket) => names.get(socket)),
    wait(ms: number) {
      now += ms
    },
    /** Opens a connection that waits for its client; `taken` of what it returns is called when the client has taken all. */
    hold(name: string, holds: number, caller?: string) {
      now += 1
      const { socket, request } = open({ holds, ...(caller !== undefined && { caller }) })
      names.set(socket, name)
      const add = () => untaken.add(request, holds)
      return { taken: add(), again: add, socket }
    },
  }
}

describe('bytes that nobody has taken', () => {
  it('are counted until they are taken, once', (t) => {
    const { untaken, hold } = setUp(t)
    const { taken } = hold('a', 300)
    hold('b', 200)
    assert.equal(untaken.bytes, 500)
    taken()
    taken()
    assert.equal(untaken.bytes, 200)
  })

  it('may be as many as the maximum, and are then cut back to a part of it', (t) => {
    const { untaken, hold, cut, reasons } = setUp(t)
    for (const name of ['a', 'b', 'c', 'd']) hold(name, 200)
    assert.deepEqual(cut(), [])
    hold('e', 1)
    assert.deepEqual(cut(), ['a'])
    assert.ok(untaken.bytes <= KEPT, `${untaken.bytes}`)
    assert.match(reasons[0] ?? '', /hold 801 bytes/)
  })

  it('are no longer counted for a connection that was cut off', (t) => {
    const { untaken, hold } = setUp(t)
    const { taken } = hold('a', 400)
    hold('b', 401)
    assert.equal(untaken.bytes, 401)
    taken()
    assert.equal(untaken.bytes, 401)
  })

  it('of a single answer may be more than the maximum', (t) => {
    const { hold, cut } = setUp(t)
    hold('a', 10 * MAX)
    assert.deepEqual(cut(), [])
  })

  it('are not counted on a connection that is gone', (t) => {
    const { untaken, hold } = setUp(t)
    const { taken, again, socket } = hold('a', 100)
    taken()
    socket.destroy()
    const end = again()
    assert.equal(untaken.bytes, 0)
    end()
    assert.equal(untaken.bytes, 0)
  })
})

describe('when too many bytes wait to be taken', () => {
  it('the caller that holds most gives way, however long others wait', (t) => {
    const { hold, cut } = setUp(t)
    hold('other', 150, 'other')
    hold('address', 150)
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) hold(name, 100, 'attacker')
    assert.deepEqual(cut(), ['a', 'b'])
  })

  it('a caller gives way until another holds more', (t) => {
    const { hold, cut } = setUp(t)
    hold('a', 300, 'one')
    hold('b', 250, 'other')
    hold('c', 200, 'one')
    hold('d', 400, 'other')
    assert.deepEqual(cut(), ['b', 'a'])
  })

  it('connections that have taken a part go after those of their caller that have not', (t) => {
    const { hold, cut } = setUp(t)
    const reader = hold('reader', 300)
    reader.taken()
    reader.again()
    hold('a', 100)
    hold('b', 400)
    hold('c', 1)
    assert.deepEqual(cut(), ['a', 'b'])
  })

  it('connections that have taken nothing for long go before others of their caller', (t) => {
    const { hold, cut, wait } = setUp(t)
    const reader = hold('reader', 150)
    reader.taken()
    reader.again()
    wait(HELD_STALLED_MS - 2)
    hold('a', 300)
    hold('b', 351)
    assert.deepEqual(cut(), ['reader'])
  })

  it('a caller that has taken nothing for long stays while another holds more', (t) => {
    const { hold, cut, wait } = setUp(t)
    hold('other', 60, 'other')
    hold('address', 60)
    wait(10 * HELD_STALLED_MS)
    for (const name of ['a', 'b', 'c']) hold(name, 227, 'attacker')
    assert.deepEqual(cut(), ['a'])
  })
})
