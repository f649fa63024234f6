import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Histogram } from '../../src/metrics/family.ts'

describe('Histogram', () => {
  it('counts a value in each bucket whose bound is at least the value', () => {
    const histogram = new Histogram([1, 10])
    for (const value of [0, 1, 1.5, 10, 11]) histogram.observe(value)
    assert.deepEqual(histogram.cumulative(), [
      { bound: 1, count: 2 },
      { bound: 10, count: 4 },
      { bound: Number.POSITIVE_INFINITY, count: 5 },
    ])
    assert.deepEqual([histogram.sum, histogram.count], [23.5, 5])
  })

  it('begins empty, and shares no bucket with another histogram', () => {
    new Histogram([1]).observe(0)
    const histogram = new Histogram([1])
    assert.deepEqual(
      histogram.cumulative().map(({ count }) => count),
      [0, 0],
    )
    assert.deepEqual([histogram.sum, histogram.count], [0, 0])
  })
})
