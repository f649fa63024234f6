import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  FREE_FAILURES,
  THROTTLE_MEMORY_MS,
  THROTTLE_PAIRS_MAX,
  THROTTLE_PAUSE_MS_MAX,
  THROTTLE_PAUSE_MS_MIN,
  Throttle,
  WIDER_FREE_FAILURES,
} from '../../src/auth/throttle.ts'
import { OverloadedError, TooManyAttemptsError } from '../../src/errors.ts'
import { holdClock } from '../support/held-clock.ts'

const ADDRESS = '192.0.2.1'
const ACCOUNT = 'user admin'

function setUp() {
  const held = holdClock()
  const throttle = new Throttle(held.make())
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

describe('Throttle', () => {
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

  const [narrowFree, wideFree] = WIDER_FREE_FAILURES
  const wider: readonly (readonly [
    what: string,
    free: number,
    within: (i: number) => string,
    beside: string,
  ])[] = [
    [
      'a /56 of IPv6',
      narrowFree,
      (i) => `2001:db8:1:10${i.toString(16).padStart(2, '0')}::1`,
      '2001:db8:1:1100::1',
    ],
    ['a /24 of IPv4', narrowFree, (i) => `192.0.2.${i}`, '192.0.3.1'],
    ['a /48 of IPv6', wideFree, (i) => `2001:db8:1:${i.toString(16)}00::1`, '2001:db8:2::1'],
  ]
  for (const [what, free, within, beside] of wider) {
    describe(`for ${what}`, () => {
      /** Uses up the free failures with a few from each network. */
      const exhaustAll = (attempt: (address: string) => void) => {
        for (let i = 0; i < free; i += 1) attempt(within(i % 200))
      }

      it('allows more failures, in networks that are not throttled themselves', () => {
        const { held, attempt, pause } = setUp()
        exhaustAll(attempt)
        assert.equal(pause(within(201)), THROTTLE_PAUSE_MS_MIN / 1000)
        assert.equal(pause(beside), 0)
        assert.equal(pause(within(201), 'user other'), 0)
        held.advance(THROTTLE_PAUSE_MS_MIN)
        assert.equal(pause(within(202)), 0)
        assert.equal(pause(within(203)), (2 * THROTTLE_PAUSE_MS_MIN) / 1000)
      })

      it('does not make a network wait that is known for the account', () => {
        const { throttle, attempt, pause } = setUp()
        exhaustAll(attempt)
        const known = within(201)
        const begin = () => throttle.begin(known, ACCOUNT, { isKnown: true })
        begin().succeed()
        for (let i = 0; i < FREE_FAILURES; i += 1) begin().fail()
        assert.throws(begin, TooManyAttemptsError)
        assert.ok(pause(within(202)) > 0)
      })

      it('does not count failures of a network that is known for the account', () => {
        const { throttle, attempt, pause } = setUp()
        for (let i = 0; i < FREE_FAILURES; i += 1)
          throttle.begin(within(201), ACCOUNT, { isKnown: true }).fail()
        for (let i = 1; i < free; i += 1) attempt(within(i % 200))
        assert.equal(pause(within(202)), 0)
      })

      it('forgets the failures of the network that has a success, and no others', () => {
        const { throttle, attempt, pause } = setUp()
        for (let i = 1; i < FREE_FAILURES; i += 1) attempt(within(201))
        throttle.begin(within(201), ACCOUNT).succeed()
        for (let i = 1; i < free; i += 1) attempt(within(i % 200))
        throttle.begin(within(202), ACCOUNT).succeed()
        assert.equal(pause(within(203)), 0)
        assert.ok(pause(within(203)) > 0)
      })

      it('runs no more attempts at once than may fail without a pause', () => {
        const { throttle } = setUp()
        for (let i = 0; i < free; i += 1) throttle.begin(within(i % 200), ACCOUNT)
        assert.throws(() => throttle.begin(within(201), ACCOUNT), OverloadedError)
        throttle.begin(within(201), ACCOUNT, { isKnown: true }).cancel()
        throttle.begin(beside, ACCOUNT).cancel()
      })
    })
  }

  it('allows a caller without an address as many as any', () => {
    const { exhaust, pause } = setUp()
    exhaust('unix')
    assert.ok(pause('unix') > 0)
  })

  it('watches a bounded number of pairs and forgets old ones, those last that are paused or have many failures', () => {
    const { attempt, exhaust, pause } = setUp()
    const attemptOften = (account: string) => {
      for (let i = 1; i < FREE_FAILURES; i += 1) attempt('unix', account)
    }
    exhaust('unix')
    attemptOften('user often')
    attempt('unix', 'user once')
    for (let i = 0; i < THROTTLE_PAIRS_MAX; i += 1) attempt('unix', `user ${i}`)
    assert.ok(pause('unix') > 0)
    assert.equal(pause('unix', 'user often'), 0)
    assert.ok(pause('unix', 'user often') > 0)
    attemptOften('user once')
    assert.equal(pause('unix', 'user once'), 0)
  })
})
