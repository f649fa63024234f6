import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createThrottle } from '../../src/auth/throttle.ts'
import { OverloadedError, TooManyAttemptsError } from '../../src/errors.ts'
import {
  FREE_FAILURES,
  THROTTLE_MEMORY_MS,
  THROTTLE_PAIRS_MAX,
  THROTTLE_PAUSE_MS_MAX,
  THROTTLE_PAUSE_MS_MIN,
} from '../../src/limits.ts'
import { holdClock } from '../support/held-clock.ts'

const ADDRESS = '192.0.2.1'
const ACCOUNT = 'user admin'

function setUp() {
  const held = holdClock()
  const throttle = createThrottle(held.make())
  const attempt = (address = ADDRESS, account = ACCOUNT) => throttle.begin(address, account).fail()
  return {
    held,
    throttle,
    attempt,
    /** Uses up the free failures. */
    exhaust(address = ADDRESS, account = ACCOUNT) {
      for (let i = 0; i < FREE_FAILURES; i += 1) attempt(address, account)
    },
    /** Seconds to wait before another attempt; 0 when it is accepted, which counts as a failure. */
    pause(address = ADDRESS, account = ACCOUNT): number {
      try {
        attempt(address, account)
        return 0
      } catch (error) {
        assert.ok(error instanceof TooManyAttemptsError)
        return error.retryAfterSeconds
      }
    },
  }
}

describe('createThrottle', () => {
  it('allows ten failures and makes the next attempt wait', () => {
    const { exhaust, pause } = setUp()
    assert.equal(FREE_FAILURES, 10)
    exhaust()
    assert.equal(pause(), THROTTLE_PAUSE_MS_MIN / 1000)
  })

  it('counts the pause down in whole seconds, rounded up, and does not prolong it', () => {
    const { held, exhaust, pause } = setUp()
    exhaust()
    held.advance(THROTTLE_PAUSE_MS_MIN - 1001)
    assert.equal(pause(), 2)
    held.advance(1000)
    assert.equal(pause(), 1)
    held.advance(1)
    assert.equal(pause(), 0)
  })

  it('doubles the pause with each further failure, up to the longest', () => {
    const { held, exhaust, pause } = setUp()
    exhaust()
    const pauses = Array.from({ length: 8 }, () => {
      const seconds = pause()
      held.advance(seconds * 1000)
      assert.equal(pause(), 0)
      return seconds
    })
    const longest = THROTTLE_PAUSE_MS_MAX / 1000
    assert.deepEqual(pauses, [30, 60, 120, 240, 480, longest, longest, longest])
  })

  it('forgets the failures after a success', () => {
    const { throttle, attempt, exhaust, pause } = setUp()
    for (let i = 1; i < FREE_FAILURES; i += 1) attempt()
    throttle.begin(ADDRESS, ACCOUNT).succeed()
    exhaust()
    assert.equal(pause(), THROTTLE_PAUSE_MS_MIN / 1000)
  })

  it('forgets the failures after a long time without one', () => {
    const { held, attempt, exhaust, pause } = setUp()
    for (let i = 1; i < FREE_FAILURES; i += 1) attempt()
    held.advance(THROTTLE_MEMORY_MS - 1)
    attempt()
    assert.ok(pause() > 0)
    held.advance(THROTTLE_MEMORY_MS)
    exhaust()
    assert.ok(pause() > 0)
  })

  it("pauses by elapsed time, regardless of the machine's clock", () => {
    const { held, exhaust, pause } = setUp()
    exhaust()
    for (const wall of [held.wall + 24 * 3_600_000, 0]) {
      held.wall = wall
      assert.equal(pause(), THROTTLE_PAUSE_MS_MIN / 1000)
    }
  })

  it('does not count an attempt that was not decided', () => {
    const { throttle, exhaust, pause } = setUp()
    for (let i = 0; i < 2 * FREE_FAILURES; i += 1) throttle.begin(ADDRESS, ACCOUNT).cancel()
    exhaust()
    assert.ok(pause() > 0)
  })

  it('runs no more attempts at once than may fail without a pause', () => {
    const { throttle, attempt } = setUp()
    attempt()
    const begun = Array.from({ length: FREE_FAILURES - 1 }, () => throttle.begin(ADDRESS, ACCOUNT))
    assert.throws(() => throttle.begin(ADDRESS, ACCOUNT), OverloadedError)
    throttle.begin(ADDRESS, 'user other').cancel()
    begun[0]?.cancel()
    throttle.begin(ADDRESS, ACCOUNT).succeed()
  })

  const pairs: readonly (readonly [what: string, address: string, other: string, isSame: boolean])[] = [
    ['another IPv4 address', '192.0.2.1', '192.0.2.2', false],
    ['an address of the same /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['an address of the same /64, zeros left out', '2001:db8::1', '2001:db8:0:0:1::', true],
    ['an address of the next /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['an address that ends in zeros', '2001:db8:1:2::', '2001:db8:1:2::5', true],
    ['an address of the same /64 with a zone', 'fe80::1%eth0', 'fe80::2', true],
    ['loopback and a global address', '::1', '2001:db8::1', false],
  ]
  for (const [what, address, other, isSame] of pairs) {
    it(`counts ${what} ${isSame ? 'as the same' : 'separately'}`, () => {
      const { exhaust, pause } = setUp()
      exhaust(address)
      assert.equal(pause(other) > 0, isSame)
    })
  }

  it('counts each account separately', () => {
    const { exhaust, pause } = setUp()
    exhaust()
    assert.equal(pause(ADDRESS, 'user other'), 0)
    assert.equal(pause(ADDRESS, 'client admin'), 0)
  })

  it('watches a bounded number of pairs and forgets the least recent, unless it is paused', () => {
    const { attempt, exhaust, pause } = setUp()
    exhaust(ADDRESS)
    for (let i = 1; i < FREE_FAILURES; i += 1) attempt(ADDRESS, 'user unseen')
    for (let i = 2; i < THROTTLE_PAIRS_MAX; i += 1) attempt(ADDRESS, `user ${i}`)
    attempt(ADDRESS, 'user one too many')
    assert.ok(pause() > 0)
    attempt(ADDRESS, 'user unseen')
    assert.equal(pause(ADDRESS, 'user unseen'), 0)
  })
})
