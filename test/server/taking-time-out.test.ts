import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import { limitTaking } from '../../src/server/taking-time-out.ts'

describe('limitTaking', () => {
  it('destroys the socket at the time-out, unless what was written has been taken', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const [slow, taken] = [new Socket(), new Socket()]
    t.after(() => void taken.destroy())
    limitTaking(slow)
    const stop = limitTaking(taken)
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(slow.destroyed, false)
    stop()
    t.mock.timers.tick(1)
    assert.deepEqual([slow.destroyed, taken.destroyed], [true, false])
  })
})
