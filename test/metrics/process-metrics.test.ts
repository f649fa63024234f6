import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { processMetrics } from '../../src/metrics/process-metrics.ts'
import { version } from '../../src/version.ts'
import { eventually } from '../support/eventually.ts'
import { holdUp } from './hold-up.ts'
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
    const before = valueFor('process_cpu_seconds_total')
    holdUp(100)
    const used = valueFor('process_cpu_seconds_total') - before
    // Other processes may have used this core, and other threads another one.
    assert.ok(used > 0.01 && used < 1, String(used))
  })

  it('show when it started, in seconds since 1970', () => {
    const age = Date.now() / 1000 - valueFor('process_start_time_seconds')
    assert.ok(Math.abs(age - process.uptime()) < 1, String(age))
  })

  it('show memory in bytes', () => {
    const resident = process.memoryUsage.rss()
    assert.ok(Math.abs(valueFor('process_resident_memory_bytes') / resident - 1) < 0.2)
    const used = valueFor('nodejs_heap_size_used_bytes')
    assert.ok(used > 1e6 && used <= valueFor('nodejs_heap_size_total_bytes'))
    const before = valueFor('nodejs_external_memory_bytes')
    const buffer = Buffer.alloc(50e6)
    assert.ok(valueFor('nodejs_external_memory_bytes') >= before + buffer.length / 2)
  })

  it('show how many descriptors are open', async (t) => {
    const openMore = async () => {
      const before = valueFor('process_open_fds')
      for (let i = 0; i < 100; i++) {
        const file = await open(import.meta.filename)
        t.after(() => file.close())
      }
      return valueFor('process_open_fds') - before
    }
    // The test runner, and tests that ran in this process before, also open and close some.
    await eventually('100 more are open', async () => {
      const opened = await openMore()
      return opened > 90 && opened < 110
    })
  })
})
