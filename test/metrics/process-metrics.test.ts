import '../support/node-version.ts'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import perfHooks from 'node:perf_hooks'
import { describe, it, type TestContext } from 'node:test'
import v8 from 'node:v8'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import {
  EVENT_LOOP_LOOK_MS,
  EVENT_LOOP_WINDOW_MS,
  processMetrics,
  watchEventLoop,
} from '../../src/metrics/process-metrics.ts'
import { version } from '../../src/version.ts'
import { Samples } from './scrape.ts'

describe('the metrics of the process', () => {
  const read = () => new Samples(formatMetrics(processMetrics()))
  const valueFor = (name: string) => read().get(name) ?? assert.fail(name)

  it('name the versions of connbook and Node, and no commit in a run from source', () => {
    assert.deepEqual(read().of('connbook_build_info'), {
      [`{version="${version}",commit="unknown",day="unknown",node="${process.version}"}`]: 1,
    })
  })

  it('show CPU time in seconds', () => {
    const cpuSeconds = () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }
    const before = cpuSeconds()
    const shown = valueFor('process_cpu_seconds_total')
    assert.ok(before > 0 && shown >= before && shown <= cpuSeconds(), `${before} ${shown}`)
  })

  it('leave out the memory in use where there is no /proc', (t) => {
    t.mock.method(process.memoryUsage, 'rss', () => {
      throw new Error('uv_resident_set_memory: ENOENT')
    })
    assert.equal(read().get('process_resident_memory_bytes'), undefined)
    assert.ok(valueFor('nodejs_heap_size_used_bytes') > 0)
  })

  it('show when it started, in seconds since 1970', () => {
    assert.equal(valueFor('process_start_time_seconds'), performance.timeOrigin / 1000)
    const [year2020, year2100] = [Date.UTC(2020), Date.UTC(2100)]
    assert.ok(performance.timeOrigin > year2020 && performance.timeOrigin < year2100)
  })

  it('show memory in bytes', (t) => {
    const heap = { used_heap_size: 100e6, total_heap_size: 200e6, external_memory: 50e6 }
    t.mock.method(process.memoryUsage, 'rss', () => 400e6)
    t.mock.method(v8, 'getHeapStatistics', () => heap)
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
    const samples = read()
    assert.equal(samples.get('process_resident_memory_bytes'), 400e6)
    assert.equal(samples.get('nodejs_heap_size_used_bytes'), heap.used_heap_size)
    assert.equal(samples.get('nodejs_heap_size_total_bytes'), heap.total_heap_size)
    assert.equal(samples.get('nodejs_external_memory_bytes'), heap.external_memory)
  })

  it('show how many descriptors are open, without the one that looks', (t) => {
    const paths: unknown[] = []
    t.mock.method(fs, 'readdirSync', (path: unknown) => {
      paths.push(path)
      return Array.from({ length: 101 }, (_, i) => String(i))
    })
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
    assert.equal(valueFor('process_open_fds'), 100)
    assert.deepEqual(paths, ['/proc/self/fd'])
  })
})

const NAME = 'connbook_event_loop_delay_seconds'

const ACTIVE = 'connbook_event_loop_active_seconds_total'

/** A watch of an event loop whose delays, clock and busy time come from the test. */
function watchHeldLoop(t: TestContext) {
  // A whole number: `now` plus the window minus `now` is then the window, without a rounding error.
  let now = 1_000
  let activeMs = 0
  /** In nanoseconds, as the timer of Node measures them. */
  let intervals: number[] = []
  const calls: string[] = []
  const measured = {
    enable: () => calls.push('enable'),
    disable: () => calls.push('disable'),
    reset: () => {
      intervals = []
    },
    get count() {
      return intervals.length
    },
    get mean() {
      return intervals.reduce((sum, each) => sum + each, 0) / intervals.length
    },
    percentile: (percent: number) =>
      intervals.toSorted((a, b) => a - b)[Math.ceil((percent / 100) * intervals.length) - 1],
  }
  t.mock.method(performance, 'now', () => now)
  t.mock.method(performance, 'eventLoopUtilization', () => ({ active: activeMs }))
  const monitor = t.mock.method(perfHooks, 'monitorEventLoopDelay', () => measured as never)
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const watch = watchEventLoop()
  assert.deepEqual(monitor.mock.calls[0]?.arguments, [{ resolution: EVENT_LOOP_LOOK_MS }])
  return {
    watch,
    calls,
    read: () => new Samples(formatMetrics(watch.metrics)),
    /** Has the timer run so late. */
    delay: (...late: number[]) => intervals.push(...late.map((ms) => (EVENT_LOOP_LOOK_MS + ms) * 1e6)),
    wait: (ms: number) => {
      now += ms
    },
    work: (ms: number) => {
      activeMs += ms
    },
  }
}

const rounded = (seconds: number | undefined) => Math.round((seconds ?? Number.NaN) * 1e6) / 1e6

describe('the metrics of the event loop', () => {
  it('show how late its timer ran, and how long it was busy, in seconds', (t) => {
    const { read, delay, work } = watchHeldLoop(t)
    delay(1, 1, 1, 150)
    work(170)
    const samples = read()
    const quantiles = ['0.5', '0.9', '0.99', '1'].map((quantile) =>
      rounded(samples.get(`${NAME}{quantile="${quantile}"}`)),
    )
    assert.deepEqual(quantiles, [0.001, 0.15, 0.15, 0.15])
    assert.equal(rounded(samples.get(`${NAME}_sum`)), 0.153)
    assert.equal(samples.get(`${NAME}_count`), 4)
    assert.equal(samples.get(ACTIVE), 0.17)
  })

  it('take a timer that ran early for one in time, and never let a sum fall', (t) => {
    const { read, delay } = watchHeldLoop(t)
    delay(3)
    const before = read()
    delay(-4)
    const samples = read()
    assert.equal(samples.get(`${NAME}{quantile="0.5"}`), 0)
    assert.equal(samples.get(`${NAME}_sum`), before.get(`${NAME}_sum`))
    assert.equal(samples.get(`${NAME}_count`), 2)
  })

  it('have quantiles of the last minute, and sum and count since the start', (t) => {
    const { read, delay, wait } = watchHeldLoop(t)
    const longest = (samples: Samples) => samples.get(`${NAME}{quantile="1"}`) ?? -1
    assert.ok(Number.isNaN(longest(read())))
    delay(1, 150)
    wait(EVENT_LOOP_WINDOW_MS - 1)
    assert.equal(rounded(longest(read())), 0.15)
    wait(1)
    const atEnd = read()
    assert.equal(rounded(longest(atEnd)), 0.15)
    const after = read()
    assert.ok(Number.isNaN(longest(after)))
    assert.equal(after.get(`${NAME}_count`), atEnd.get(`${NAME}_count`))
    assert.equal(after.get(`${NAME}_sum`), atEnd.get(`${NAME}_sum`))
    delay(100)
    const next = read()
    assert.equal(rounded(longest(next)), 0.1)
    assert.equal(rounded(next.get(`${NAME}_sum`)), 0.251)
    assert.equal(next.get(`${NAME}_count`), 3)
  })

  it('are measured until the watch is closed', (t) => {
    const { watch, calls } = watchHeldLoop(t)
    watch.close()
    assert.deepEqual(calls, ['enable', 'disable'])
  })
})
