import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ALL_ATTEMPTS_LISTED_MAX,
  ATTEMPTS_LISTED_MAX,
  ATTEMPTS_WINDOW_MS,
  createAttemptBudget,
} from '../../src/auth/attempt-log.ts'
import { holdClock } from '../support/held-clock.ts'

function setUp() {
  const clock = holdClock()
  const budget = createAttemptBudget(clock.make(0))
  /** How many of `attempts` are listed. */
  const listed = (attempts: number, address: string) =>
    Array.from({ length: attempts }, () => budget.take(address)).filter(Boolean).length
  return { clock, budget, listed }
}

describe('the budget of listed attempts', () => {
  it('limits the listed attempts of one network, regardless of others', () => {
    const { listed } = setUp()
    assert.equal(listed(1000, '192.0.2.1'), ATTEMPTS_LISTED_MAX)
    assert.equal(listed(1, '192.0.2.2'), 1)
    assert.equal(listed(1000, '2001:db8::1'), ATTEMPTS_LISTED_MAX)
    assert.equal(listed(1, '2001:db8::2'), 0)
  })

  it('limits the listed attempts of all networks together', () => {
    const { listed } = setUp()
    const each = Array.from({ length: 1000 }, (_, i) => listed(1, `10.0.${i >> 8}.${i & 255}`))
    assert.equal(each.filter((count) => count === 1).length, ALL_ATTEMPTS_LISTED_MAX)
  })

  it('renews after its window, and returns how many were not listed', () => {
    const { budget, clock, listed } = setUp()
    listed(ATTEMPTS_LISTED_MAX + 7, '192.0.2.1')
    assert.equal(budget.settle(), 7)
    clock.advance(ATTEMPTS_WINDOW_MS - 1)
    assert.equal(listed(1, '192.0.2.1'), 0)
    clock.advance(1)
    assert.equal(listed(1, '192.0.2.1'), 1)
    assert.equal(budget.settle(), 1)
    assert.equal(budget.settle(), 0)
  })
})
