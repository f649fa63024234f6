import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callPatiently } from '../../src/client/retry.ts'
import { CALL_PAUSE_MS_MIN, CALL_RETRY_MS } from '../../src/limits.ts'

const answer = (status: number, seconds?: string) => ({
  status,
  headers: seconds === undefined ? {} : { 'retry-after': seconds },
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
      answer(503, 'Wed, 21 Oct 2026 07:28:00 GMT'),
    ]) {
      const { run, calls } = setUp([only])
      await run()
      assert.equal(calls(), 1)
    }
  })
})
