import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import { limitTaking } from '../../src/server/reply.ts'
import { holders } from './untaken.ts'

describe('limitTaking', () => {
  it('destroys the socket at the time-out, unless what was written has been taken', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { untaken, open } = holders(t, 1_000)
    const [slow, taken] = [open({ holds: 1 }), open({ holds: 2 })]
    limitTaking(slow.request, untaken)
    const stop = limitTaking(taken.request, untaken)
    assert.equal(untaken.bytes, 3)
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(slow.socket.destroyed, false)
    stop()
    assert.equal(untaken.bytes, 1)
    t.mock.timers.tick(1)
    assert.deepEqual([slow.socket.destroyed, taken.socket.destroyed], [true, false])
  })
})
