import '../support/node-version.ts'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, it } from 'node:test'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { processMetrics } from '../../src/metrics/process-metrics.ts'
import { version } from '../../src/version.ts'
import { Samples } from './scrape.ts'

describe('the metrics of the process', () => {
  const read = () => new Samples(formatMetrics(processMetrics()))
  const valueFor = (name: string) => read().get(name) ?? assert.fail(name)

  it('name the versions of connbook and Node', () => {
    assert.deepEqual(read().of('connbook_build_info'), {
      [`{version="${version}",node="${process.version}"}`]: 1,
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

  it('show when it started, in seconds since 1970', () => {
    assert.equal(valueFor('process_start_time_seconds'), performance.timeOrigin / 1000)
    const [year2020, year2100] = [Date.UTC(2020), Date.UTC(2100)]
    assert.ok(performance.timeOrigin > year2020 && performance.timeOrigin < year2100)
  })

  it('show memory in bytes', (t) => {
    const used = { rss: 400e6, heapTotal: 200e6, heapUsed: 100e6, external: 50e6, arrayBuffers: 1e6 }
    const { memoryUsage } = process
    process.memoryUsage = Object.assign(() => used, { rss: () => used.rss })
    t.after(() => {
      process.memoryUsage = memoryUsage
    })
    const samples = read()
    assert.equal(samples.get('process_resident_memory_bytes'), used.rss)
    assert.equal(samples.get('nodejs_heap_size_used_bytes'), used.heapUsed)
    assert.equal(samples.get('nodejs_heap_size_total_bytes'), used.heapTotal)
    assert.equal(samples.get('nodejs_external_memory_bytes'), used.external)
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
