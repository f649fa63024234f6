import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { EVENT_LOOP_LOOK_MS, EVENT_LOOP_WINDOW_MS } from '../../src/limits.ts'
import { watchEventLoop } from '../../src/metrics/event-loop.ts'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { until } from '../support/store.ts'
import { holdUp } from './hold-up.ts'
import { Samples } from './scrape.ts'

describe('the metrics of the event loop', () => {
  const NAME = 'connbook_event_loop_delay_seconds'
  const ACTIVE = 'connbook_event_loop_active_seconds_total'

  it('show the delay that a callback of any kind causes', async (t) => {
    const watch = watchEventLoop()
    t.after(() => watch.close())
    const read = () => new Samples(formatMetrics(watch.metrics))
    const countOf = (samples: Samples) => samples.get(`${NAME}_count`) ?? assert.fail('no count')
    const looked = (times: number) => {
      const count = countOf(read())
      return until(() => countOf(read()) >= count + times)
    }
    const began = performance.now()
    await looked(2)
    const before = read()
    await readFile(import.meta.filename)
    holdUp(150)
    await looked(1)
    const samples = read()
    const elapsed = (performance.now() - began) / 1000
    // The delay began at any time between two measurements.
    const longest = samples.get(`${NAME}{quantile="1"}`) ?? 0
    assert.ok(longest > 0.15 - EVENT_LOOP_LOOK_MS / 1000 - 0.005 && longest < elapsed, String(longest))
    assert.ok((samples.get(`${NAME}{quantile="0.5"}`) ?? 1) < longest / 2)
    assert.ok((samples.get(`${NAME}_sum`) ?? 0) > (before.get(`${NAME}_sum`) ?? 0) + 0.09)
    const active = (samples.get(ACTIVE) ?? 0) - (before.get(ACTIVE) ?? 0)
    assert.ok(active > 0.1 && active < elapsed, String(active))
  })

  it('have quantiles of the last minute, and sum and count since the start', async (t) => {
    // A whole number: `now` plus the window minus `now` is then the window, without a rounding error.
    let now = 1_000
    t.mock.method(performance, 'now', () => now)
    const watch = watchEventLoop()
    t.after(() => watch.close())
    const read = () => new Samples(formatMetrics(watch.metrics))
    const counted = () => read().get(`${NAME}_count`) ?? 0
    const looked = async (times: number) => {
      const count = counted()
      while (counted() < count + times) await pause(EVENT_LOOP_LOOK_MS)
    }
    assert.ok(Number.isNaN(read().get(`${NAME}{quantile="0.99"}`)))
    await looked(2)
    holdUp(150)
    await looked(1)
    now += EVENT_LOOP_WINDOW_MS
    const atEnd = read()
    assert.ok((atEnd.get(`${NAME}{quantile="1"}`) ?? -1) >= 0)
    const after = read()
    assert.ok(Number.isNaN(after.get(`${NAME}{quantile="1"}`)))
    assert.equal(after.get(`${NAME}_count`), atEnd.get(`${NAME}_count`))
    assert.equal(after.get(`${NAME}_sum`), atEnd.get(`${NAME}_sum`))
    await looked(1)
    holdUp(150)
    await looked(1)
    assert.ok((read().get(`${NAME}_sum`) ?? 0) > (atEnd.get(`${NAME}_sum`) ?? 0) + 0.09)
  })
})
