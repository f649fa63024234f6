import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { EVENT_LOOP_LOOK_MS, watchEventLoop } from '../../src/metrics/process-metrics.ts'
import { eventually } from '../support/eventually.ts'
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
      return eventually('the timer has run', () => countOf(read()) >= count + times)
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
    const grown = (name: string) => (samples.get(name) ?? 0) - (before.get(name) ?? 0)
    assert.ok(grown(`${NAME}_sum`) > 0.09, String(grown(`${NAME}_sum`)))
    assert.ok(grown(ACTIVE) > 0.1 && grown(ACTIVE) < elapsed, String(grown(ACTIVE)))
  })
})

/** Blocks the event loop. */
function holdUp(milliseconds: number) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
