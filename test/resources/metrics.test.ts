import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { metricsHandlers } from '../../src/resources/metrics.ts'

describe('the metrics', () => {
  it('are the current figures, as Prometheus text that is never cached', () => {
    let value = 1
    const { read } = metricsHandlers([
      { name: 'connbook_things', help: 'Things.', type: 'gauge', samples: () => [{ value }] },
    ])
    assert.match(String(read().body), /^connbook_things 1$/m)
    value = 2
    const { status, headers, body } = read()
    assert.equal(status, 200)
    assert.deepEqual(headers, {
      'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      'Cache-Control': 'no-store',
    })
    assert.match(String(body), /^connbook_things 2$/m)
  })
})
