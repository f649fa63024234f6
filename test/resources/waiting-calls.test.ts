import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import type { AccountPrincipal, Request } from '../../src/http/message.ts'
import { Problem } from '../../src/http/problem.ts'
import { WAITING_CALLS_LOOK_MS } from '../../src/limits.ts'
import {
  CredentialChecks,
  WAITING_PLACE_CHARACTERS,
  WaitingCalls,
} from '../../src/resources/waiting-calls.ts'
import { type LongWork, runAtOnce, Scheduler } from '../../src/scheduler.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const MAX = 8

function setUp() {
  const calls = new WaitingCalls(new Scheduler(), createMemoryLog(), MAX)
  const open: string[] = []
  const enter = (account: string, id: string, query = '', grants?: readonly string[]) => {
    const request = {
      query,
      address: '127.0.0.1',
      principal: { kind: 'user', name: account, scope: 'read write', ...(grants && { grants }) },
    } as const
    const giveWay = () => {
      leave()
      open.splice(open.indexOf(id), 1)
    }
    const leave = calls.enter(request, { look: () => {}, giveWay })
    open.push(id)
    return giveWay
  }
  return { calls, open, enter }
}

const isRefused = (error: unknown) =>
  error instanceof Problem && error.status === 503 && error.headers['Retry-After'] !== undefined

describe('calls that wait', () => {
  it('take a quarter of the places for one account', () => {
    const { calls, enter } = setUp()
    const leave = enter('a', 'a1')
    enter('a', 'a2')
    assert.throws(() => enter('a', 'a3'), isRefused)
    leave()
    enter('a', 'a4')
    assert.equal(calls.count, 2)
    calls.close()
  })

  it('give way, the oldest of the account with most, to an account with at least two fewer', () => {
    const { calls, open, enter } = setUp()
    for (const account of ['a', 'b', 'c', 'd']) for (const i of [1, 2]) enter(account, `${account}${i}`)
    enter('e', 'e1')
    assert.deepEqual(open, ['a2', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2', 'e1'])
    assert.throws(() => enter('a', 'a3'), isRefused)
    for (const account of ['f', 'g', 'h']) enter(account, `${account}1`)
    assert.throws(() => enter('i', 'i1'), isRefused)
    assert.equal(calls.count, MAX)
    calls.close()
  })

  it('take more places with a long query, and as many give way to another account', () => {
    const { calls, open, enter } = setUp()
    const two = 'q'.repeat(WAITING_PLACE_CHARACTERS)
    enter('a', 'a1', two)
    assert.throws(() => enter('a', 'a2'), isRefused)
    enter('b', 'b1', two)
    for (const account of ['c', 'd']) for (const i of [1, 2]) enter(account, `${account}${i}`)
    assert.throws(() => enter('e', 'e1', two), isRefused)
    enter('e', 'e1')
    assert.deepEqual(open, ['b1', 'c1', 'c2', 'd1', 'd2', 'e1'])
    enter('f', 'f1')
    assert.throws(() => enter('e', 'e2'), isRefused)
    enter('g', 'g1')
    assert.deepEqual(open, ['c1', 'c2', 'd1', 'd2', 'e1', 'f1', 'g1'])
    assert.equal(calls.count, 7)
    calls.close()
  })

  it('take more places for an account with long grants', () => {
    const { calls, enter } = setUp()
    const half = `read?prefix=${'p'.repeat(WAITING_PLACE_CHARACTERS / 2)}`
    enter('a', 'a1', '', [half, half])
    assert.throws(() => enter('a', 'a2', '', [half, half]), isRefused)
    enter('b', 'b1', '', [half])
    enter('b', 'b2', '', [half])
    calls.close()
  })

  it('make room at once, even if what gives way takes its time to leave', () => {
    const { calls } = setUp()
    const request = (name: string) =>
      ({ address: '127.0.0.1', principal: { kind: 'user', name, scope: 'read write' } }) as const
    const call = { look: () => {}, giveWay: () => {} }
    const leaves = ['a', 'b', 'c', 'd'].flatMap((name) =>
      [1, 2].map(() => calls.enter(request(name), { ...call })),
    )
    const leave = calls.enter(request('e'), { ...call })
    assert.equal(calls.count, MAX)
    for (const leaveLate of [...leaves, leave]) leaveLate()
    assert.equal(calls.count, 0)
    calls.close()
  })

  it('end alone when a check of them fails, which is logged', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const scheduler = { run: async (_: string, work: LongWork<never>) => runAtOnce(work) }
    const log = createMemoryLog()
    const calls = new WaitingCalls(scheduler, log, MAX)
    const done: string[] = []
    const fail = () => {
      throw new Error('a bug')
    }
    for (const [name, look] of [
      ['a', fail],
      ['b', () => done.push('b is looked at')],
    ] as const) {
      const request = {
        address: '127.0.0.1',
        principal: { kind: 'user', name, scope: 'read write' },
      } as const
      calls.enter(request, { look, giveWay: () => done.push(`${name} ends`) })
    }
    t.mock.timers.tick(WAITING_CALLS_LOOK_MS)
    assert.deepEqual(done, ['a ends', 'b is looked at'])
    assert.deepEqual(log.events, ['waiting_request_failed'])
    calls.close()
  })

  it('are checked again after checks that failed as a whole, which is logged', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let runs = 0
    const scheduler = {
      run: async <Result>(_: string, work: LongWork<Result>) => {
        if (++runs === 1) throw new Error('a bug')
        return runAtOnce(work)
      },
    }
    const log = createMemoryLog()
    const calls = new WaitingCalls(scheduler, log, MAX)
    t.after(() => calls.close())
    const request = { address: '127.0.0.1' }
    let looks = 0
    calls.enter(request, { look: () => (looks += 1), giveWay: () => {} })
    for (const expected of [0, 1]) {
      t.mock.timers.tick(WAITING_CALLS_LOOK_MS)
      await turnOfEventLoop()
      assert.deepEqual([looks, log.events], [expected, ['waiting_request_failed']])
    }
  })

  it('all end at the close, and no more may begin', () => {
    const { calls, open, enter } = setUp()
    enter('a', 'a1')
    enter('b', 'b1')
    calls.close()
    assert.deepEqual(open, [])
    assert.equal(calls.count, 0)
    assert.throws(() => enter('a', 'a2'), isRefused)
  })
})

describe('checks of credentials', () => {
  it('are made once for each credential, and again once something else has run', () => {
    const checks = new CredentialChecks()
    const ended = new Set<string>()
    let made = 0
    const requestOf = (principal: AccountPrincipal | undefined) =>
      ({
        ...(principal === undefined ? {} : { principal }),
        checkAgain() {
          made += 1
          if (ended.has(principal?.name ?? '')) throw new Problem('invalid_token', 'It has ended')
        },
      }) as Request
    const [a, b] = ['a', 'b'].map((name) => ({ kind: 'user', name, scope: 'read' }) as const)
    const look = () => [a, b, a, b].map((principal) => checks.hasEnded(requestOf(principal)))
    assert.deepEqual([look(), made], [[false, false, false, false], 2])
    ended.add('b')
    checks.forget()
    assert.deepEqual([look(), made], [[false, true, false, true], 4])
    for (const _ of [1, 2]) checks.hasEnded(requestOf(undefined))
    assert.equal(made, 6)
  })
})
