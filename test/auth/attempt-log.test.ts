import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  ALL_ATTEMPTS_LISTED_MAX,
  ATTEMPTS_LISTED_MAX,
  ATTEMPTS_WINDOW_MS,
  AttemptBudget,
  AttemptLog,
  SUCCESSES_LISTED,
} from '../../src/auth/attempt-log.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const admin = { kind: 'user', name: 'admin' } as const
const caller = { requestId: 'r1', address: '192.0.2.1', isSecure: false }

/** An attempt log, and the events that reach the audit trail. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const log = createMemoryLog()
  const told: unknown[][] = []
  const audit = { record: async (...line: unknown[]) => void told.push(line) }
  const attempts = new AttemptLog(holdClock().make(), log, audit)
  const fail = async (times: number) => {
    for (let i = 0; i < times; i++) await attempts.failed('login_failed', caller, { account: 'admin' })
  }
  return { attempts, fail, log, told }
}

describe('AttemptLog', () => {
  it('writes an attempt and who made it to log and audit trail', async (t) => {
    const { attempts, log, told } = setUp(t)
    await attempts.succeeded('logged_in', caller, admin)
    await attempts.failed('login_failed', caller, { account: 'admin' })
    const sender = { requestId: 'r1', address: '192.0.2.1' }
    assert.deepEqual(told, [
      ['logged_in', sender, { account: 'admin' }],
      ['login_failed', sender, { account: 'admin' }],
    ])
    const { time, ...line } = JSON.parse(log.lines[0] ?? '')
    const fields = { account: 'admin', address: '192.0.2.1', request_id: 'r1' }
    assert.deepEqual(line, { level: 'info', event: 'logged_in', ...fields })
    assert.equal(JSON.parse(log.lines[1] ?? '').level, 'warn')
  })

  it('is done with an attempt once the audit trail is', async () => {
    const written = Promise.withResolvers<void>()
    const attempts = new AttemptLog(holdClock().make(), createMemoryLog(), {
      record: () => written.promise,
    })
    const done: string[] = []
    const all = Promise.all([
      attempts.succeeded('logged_in', caller, admin).then(() => done.push('success')),
      attempts.failed('login_failed', caller, { account: 'admin' }).then(() => done.push('failure')),
    ])
    await new Promise(setImmediate)
    assert.deepEqual(done, [])
    written.resolve()
    await all
    assert.deepEqual(done, ['success', 'failure'])
  })

  it('reports only the number of attempts beyond the budget, once, a window after the first', async (t) => {
    const { fail, log, told } = setUp(t)
    await fail(ATTEMPTS_LISTED_MAX + 5)
    assert.equal(told.length, ATTEMPTS_LISTED_MAX)
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS - 1)
    assert.equal(told.length, ATTEMPTS_LISTED_MAX)
    t.mock.timers.tick(1)
    assert.deepEqual(told.slice(ATTEMPTS_LISTED_MAX), [['attempts_not_listed', undefined, { count: 5 }]])
    assert.equal(log.events.at(-1), 'attempts_not_listed')
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS)
    assert.equal(told.length, ATTEMPTS_LISTED_MAX + 1)
    await fail(2)
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS)
    assert.deepEqual(told.at(-1), ['attempts_not_listed', undefined, { count: 2 }])
  })

  it('reports the unlisted attempts of a window together, and then begins a new window', async (t) => {
    const { fail, told } = setUp(t)
    await fail(ATTEMPTS_LISTED_MAX + 1)
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS / 2)
    await fail(2)
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS / 2)
    assert.deepEqual(told.at(-1), ['attempts_not_listed', undefined, { count: 3 }])
    await fail(1)
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS / 2)
    assert.equal(told.length, ATTEMPTS_LISTED_MAX + 1)
  })

  it('lists a success, however many attempts have failed', async (t) => {
    const { attempts, fail, told } = setUp(t)
    await fail(ATTEMPTS_LISTED_MAX + 1)
    await attempts.succeeded('logged_in', caller, admin)
    assert.equal(told.at(-1)?.[0], 'logged_in')
  })

  it('reports only the number of successes beyond the budget of an account, once, a window after the first', async (t) => {
    const { attempts, fail, log, told } = setUp(t)
    const succeed = (name: string) => attempts.succeeded('token_issued', caller, { kind: 'client', name })
    for (let i = 0; i < SUCCESSES_LISTED.pairMax + 5; i++) await succeed('busy')
    assert.equal(told.length, SUCCESSES_LISTED.pairMax)
    await succeed('other')
    await fail(1)
    assert.deepEqual(
      told.slice(SUCCESSES_LISTED.pairMax).map(([event]) => event),
      ['token_issued', 'login_failed'],
    )
    t.mock.timers.tick(SUCCESSES_LISTED.windowMs)
    assert.deepEqual(told.slice(SUCCESSES_LISTED.pairMax + 2), [
      ['successes_not_listed', undefined, { kind: 'client', account: 'busy', count: 5 }],
    ])
    assert.equal(log.events.at(-1), 'successes_not_listed')
    t.mock.timers.tick(SUCCESSES_LISTED.windowMs)
    assert.equal(told.length, SUCCESSES_LISTED.pairMax + 3)
    await succeed('busy')
    await attempts.close()
    assert.deepEqual(told.at(-1)?.[2], { kind: 'client', account: 'busy', count: 1 })
  })

  it('reports the number of unlisted attempts when it is closed, unless it is 0', async (t) => {
    const { attempts, fail, told } = setUp(t)
    await attempts.close()
    assert.deepEqual(told, [])
    await fail(ATTEMPTS_LISTED_MAX + 1)
    await attempts.close()
    assert.deepEqual(told.at(-1), ['attempts_not_listed', undefined, { count: 1 }])
    t.mock.timers.tick(ATTEMPTS_WINDOW_MS)
    assert.equal(told.length, ATTEMPTS_LISTED_MAX + 1)
  })
})

describe('the budget of listed attempts', () => {
  function setUp() {
    const clock = holdClock()
    const budget = new AttemptBudget(clock.make(0))
    /** How many of `attempts` are listed. */
    const listed = (attempts: number, address: string) =>
      Array.from({ length: attempts }, () => budget.take(address)).filter(Boolean).length
    return { clock, budget, listed }
  }

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
