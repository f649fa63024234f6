import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SuccessBudget } from '../../src/auth/success-budget.ts'
import { holdClock } from '../support/held-clock.ts'

const ADDRESS = '192.0.2.1'
const limits = { windowMs: 60_000, pairMax: 10, accountMax: 30, allMax: 300 }

describe('the budget of listed successes', () => {
  function setUp() {
    const clock = holdClock()
    const budget = new SuccessBudget(clock.make(0), limits)
    /** How many of `successes` are listed. */
    const listed = (successes: number, account: string, address = ADDRESS) =>
      Array.from({ length: successes }, () => budget.take('client', account, address)).filter(Boolean).length
    return { budget, clock, listed }
  }

  it('limits those of an account from one network', () => {
    const { listed } = setUp()
    assert.equal(listed(1000, 'a', '2001:db8::1'), limits.pairMax)
    assert.equal(listed(1, 'a', '2001:db8::2'), 0)
    assert.equal(listed(1, 'a'), 1)
  })

  it('limits those of an account from all networks', () => {
    const { listed } = setUp()
    const each = Array.from({ length: 1000 }, (_, i) => listed(1, 'a', `10.0.${i >> 8}.${i & 255}`))
    assert.equal(each.filter((count) => count === 1).length, limits.accountMax)
    assert.equal(listed(1, 'b'), 1)
  })

  it('counts a user apart from a client of the same name', () => {
    const { budget, listed } = setUp()
    listed(1000, 'a')
    assert.equal(budget.take('user', 'a', ADDRESS), true)
  })

  it('limits those of all accounts, but for the first of each', () => {
    const { listed } = setUp()
    const accounts = limits.allMax / limits.pairMax
    for (let i = 0; i < accounts; i++) assert.equal(listed(1000, `account ${i}`), limits.pairMax)
    assert.equal(listed(1000, 'late'), 1)
    assert.equal(listed(1000, 'later'), 1)
  })

  it('renews after its window, and returns how many of each account were not listed', () => {
    const { budget, clock, listed } = setUp()
    listed(limits.pairMax + 7, 'a')
    listed(limits.pairMax + 2, 'b')
    assert.deepEqual(budget.settle(), [
      { kind: 'client', account: 'a', count: 7 },
      { kind: 'client', account: 'b', count: 2 },
    ])
    clock.advance(limits.windowMs - 1)
    assert.equal(listed(1, 'a'), 0)
    clock.advance(1)
    assert.equal(listed(1, 'a'), 1)
    assert.deepEqual(budget.settle(), [{ kind: 'client', account: 'a', count: 1 }])
    assert.deepEqual(budget.settle(), [])
  })
})
