import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClock } from '../../src/auth/clock.ts'
import { holdClock } from '../support/held-clock.ts'

const HOUR_MS = 3_600_000

describe('createClock', () => {
  it("follows the machine's clock", () => {
    const held = holdClock()
    const clock = held.make()
    assert.equal(clock.now(), held.wall)
    held.advance(1500)
    assert.equal(clock.now(), held.wall)
  })

  it('follows a jump forward at once', () => {
    const held = holdClock()
    const clock = held.make()
    held.wall += 24 * HOUR_MS
    assert.equal(clock.now(), held.wall)
  })

  for (const [what, setBack] of Object.entries({
    'back an hour': (wall: number) => wall - HOUR_MS,
    'to 1970': () => 0,
  })) {
    it(`runs on steadily when the machine's clock is set ${what}`, () => {
      const held = holdClock()
      const clock = held.make()
      const before = clock.now()
      held.wall = setBack(held.wall)
      assert.equal(clock.now(), before)
      held.advance(1000)
      held.advance(500)
      assert.equal(clock.now(), before + 1500)
      assert.equal(clock.now(), before + 1500)
    })
  }

  it("follows the machine's clock again once that has caught up", () => {
    const held = holdClock()
    const clock = held.make()
    const start = clock.now()
    held.wall -= HOUR_MS
    held.advance(1000)
    assert.equal(clock.now(), start + 1000)
    held.wall = start + 2000
    assert.equal(clock.now(), start + 2000)
  })

  it('never shows a time before one that is known to have passed', () => {
    const held = holdClock(0)
    const clock = held.make(5000)
    assert.equal(clock.now(), 5000)
    held.advance(10)
    assert.equal(clock.now(), 5010)
  })

  it('measures elapsed time regardless of the date', () => {
    const held = holdClock()
    const clock = held.make()
    held.advance(100)
    held.wall = 0
    assert.equal(clock.elapsed(), 100)
  })

  it("uses the machine's clocks when it is given none", async () => {
    const before = { now: Date.now(), elapsed: performance.now() }
    await new Promise(setImmediate) // The next turn of the event loop reads them.
    const clock = createClock()
    const read = { now: clock.now(), elapsed: clock.elapsed() }
    assert.ok(before.now <= read.now && read.now <= Date.now())
    assert.ok(before.elapsed <= read.elapsed && read.elapsed <= performance.now())
  })
})
