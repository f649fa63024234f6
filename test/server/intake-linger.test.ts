import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { LINGER_MS } from '../../src/limits.ts'
import { lingerOnClose } from '../../src/server/intake.ts'
import { holdTurns } from '../support/held-turns.ts'

/** A lingering socket whose end is recorded; the test gives it its turns. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const socket = new Socket()
  t.after(() => void socket.destroy())
  const end = t.mock.method(socket, 'end', () => socket)
  const { scheduler, waiting, takeTurns } = holdTurns()
  const parser = t.mock.fn()
  socket.on('data', parser)
  lingerOnClose(socket, scheduler, 'caller')
  return { socket, end, waiting, takeTurns, parser }
}

describe('a socket that lingers', () => {
  it('closes its sending half at once, and fully after a while', (t) => {
    const { socket, end } = setUp(t)
    socket.destroySoon()
    assert.equal(end.mock.callCount(), 1)
    t.mock.timers.tick(LINGER_MS - 1)
    assert.equal(socket.destroyed, false)
    t.mock.timers.tick(1)
    assert.equal(socket.destroyed, true)
  })

  it('drops what still arrives, and reads more only in its turn', (t) => {
    const { socket, waiting, takeTurns, parser } = setUp(t)
    socket.emit('data', Buffer.from('more'))
    assert.equal(parser.mock.callCount(), 0)
    assert.ok(socket.isPaused())
    assert.equal(waiting(), 1)
    takeTurns()
    assert.ok(!socket.isPaused())
  })
})
