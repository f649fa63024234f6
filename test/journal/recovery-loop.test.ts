import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  RECOVERY_PAUSE_MS_MAX,
  RECOVERY_PAUSE_MS_MIN,
  recoverPatiently,
} from '../../src/journal/recovery-loop.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** A recovery that fails the given number of times, started with the clock stopped. */
function begin(t: TestContext, failures: number) {
  const tick = holdTimers(t)
  const log = createMemoryLog()
  const aborter = new AbortController()
  t.after(() => aborter.abort())
  let attempts = 0
  const recover = async () => {
    attempts += 1
    if (attempts <= failures) throw new Error(`failure ${attempts}`)
  }
  const recovered = recoverPatiently(recover, 'journal.jsonl', log, aborter.signal)
  return {
    recovered,
    aborter,
    log,
    attempts: () => attempts,
    /** Lets time pass, and runs everything that is due. */
    async pass(ms: number) {
      tick(ms)
      for (let turn = 0; turn < 5; turn++) await nextTurn()
    },
  }
}

describe('the recovery', () => {
  it('ends at the first success, and logs nothing', async (t) => {
    const { recovered, log, attempts } = begin(t, 0)
    assert.equal(await recovered, true)
    assert.deepEqual([attempts(), log.lines], [1, []])
  })

  it('is retried after pauses that double up to a maximum', async (t) => {
    const { recovered, log, attempts, pass } = begin(t, 9)
    await pass(0)
    let pauseMs = RECOVERY_PAUSE_MS_MIN
    for (let failed = 1; failed <= 9; failed++) {
      assert.equal(attempts(), failed)
      await pass(pauseMs - 1)
      assert.equal(attempts(), failed, `tried again before ${pauseMs} ms`)
      await pass(1)
      pauseMs = Math.min(2 * pauseMs, RECOVERY_PAUSE_MS_MAX)
    }
    assert.equal(pauseMs, RECOVERY_PAUSE_MS_MAX)
    assert.equal(await recovered, true)
    assert.equal(attempts(), 10)
    assert.equal(log.lines.length, 9)
  })

  it('logs what failed, for which file, and when it is retried', async (t) => {
    const { log, pass } = begin(t, 1)
    await pass(0)
    const { event, level, file, reason, retry_ms } = JSON.parse(log.lines[0] ?? '{}')
    assert.deepEqual([event, level], ['storage_unavailable', 'error'])
    assert.deepEqual([file, reason, retry_ms], ['journal.jsonl', 'Error: failure 1', RECOVERY_PAUSE_MS_MIN])
  })

  it('can be stopped during a pause', async (t) => {
    const { recovered, aborter, attempts, pass } = begin(t, 1)
    await pass(0)
    aborter.abort()
    assert.equal(await recovered, false)
    assert.equal(attempts(), 1)
  })

  it('does not begin when it was stopped before', async () => {
    const recover = async () => assert.fail('it is tried')
    assert.equal(await recoverPatiently(recover, 'f', createMemoryLog(), AbortSignal.abort()), false)
  })
})
