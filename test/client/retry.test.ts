import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callPatiently, retryAfterMs } from '../../src/client/retry.ts'
import { CALL_PAUSE_MS_MIN, CALL_RETRY_MS } from '../../src/limits.ts'

const DATE = 'Wed, 21 Oct 2026 07:28:00 GMT'

const answer = (status: number, retryAfter?: string) => ({
  status,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter, date: DATE },
  text: '',
})

/** Gives the answers one by one, the last one again and again; records the pauses. */
function setUp(answers: readonly ReturnType<typeof answer>[]) {
  const pauses: number[] = []
  let [calls, now] = [0, 0]
  const patience = {
    now: () => now,
    pause: async (ms: number) => {
      pauses.push(ms)
      now += ms
    },
  }
  const call = async () => {
    calls += 1
    return answers[Math.min(calls, answers.length) - 1] ?? assert.fail('there is no answer')
  }
  return { run: () => callPatiently(call, patience), pauses, calls: () => calls }
}

describe('callPatiently', () => {
  it('repeats a call that is answered 429 or 503, after the time of Retry-After, but never at once', async () => {
    const { run, pauses } = setUp([answer(503, '1'), answer(429, '7'), answer(503, '0'), answer(200)])
    assert.equal((await run()).status, 200)
    assert.deepEqual(pauses, [1_000, 7_000, CALL_PAUSE_MS_MIN])
  })

  it('takes a date for the time from the date of the answer on', async () => {
    const { run, pauses } = setUp([
      answer(503, 'Wed, 21 Oct 2026 07:28:09 GMT'),
      answer(503, 'Wednesday, 21-Oct-26 07:28:08 GMT'),
      answer(429, 'Wed Oct 21 07:28:07 2026'),
      answer(429, 'Thu Oct  1 07:28:07 2026'),
      answer(200),
    ])
    assert.equal((await run()).status, 200)
    assert.deepEqual(pauses, [9_000, 8_000, 7_000, CALL_PAUSE_MS_MIN])
    const late = setUp([answer(429, 'Wed, 21 Oct 2026 07:28:31 GMT')])
    assert.equal((await late.run()).status, 429)
    assert.deepEqual(late.pauses, [])
  })

  it('takes a date by its own clock if the answer has none', () => {
    const wait = (ms: number) =>
      retryAfterMs({ status: 503, headers: { 'retry-after': new Date(Date.now() + ms).toUTCString() } })
    assert.equal(wait(-10_000), CALL_PAUSE_MS_MIN)
    assert.ok(Number(wait(1_000_000)) > 900_000)
  })

  it('gives up at once when the time would be too long, and after all when it adds up', async () => {
    const long = setUp([answer(429, '31')])
    assert.equal((await long.run()).status, 429)
    assert.deepEqual(long.pauses, [])
    const often = setUp([answer(503, '5')])
    assert.equal((await often.run()).status, 503)
    assert.equal(often.calls(), 1 + CALL_RETRY_MS / 5_000)
  })

  it('does not repeat what was answered otherwise, or without a time', async () => {
    for (const only of [
      answer(200),
      answer(507, '1'),
      answer(503),
      answer(503, 'soon'),
      answer(503, 'Wed, 21 Oct 2026 99:28:00 GMT'),
      answer(503, '2026-10-21T07:28:00Z'),
    ]) {
      const { run, calls } = setUp([only])
      await run()
      assert.equal(calls(), 1)
    }
  })
})
