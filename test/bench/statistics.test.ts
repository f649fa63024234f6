import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { medianInterval, quantile, summarize } from './statistics.ts'

describe('summarize', () => {
  it('takes the middle value by size, whatever the order', () => {
    assert.deepEqual(summarize([10, 2, 9]), { median: 9, min: 2, max: 10 })
  })

  it('takes the mean of the two in the middle', () => {
    assert.deepEqual(summarize([4, 1, 3, 100]), { median: 3.5, min: 1, max: 100 })
  })
})

describe('medianInterval', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => count - i)

  it('has the ranks that go with the sign test at 5 %, two-sided', () => {
    // So many values, and the ranks of the two ends: each one further in than the critical value of the test.
    const ranks = [
      [6, 1, 6],
      [8, 1, 8],
      [9, 2, 8],
      [11, 2, 10],
      [12, 3, 10],
      [20, 6, 15],
      [30, 10, 21],
    ] as const
    for (const [count, low, high] of ranks) assert.deepEqual(medianInterval(upTo(count)), { low, high })
  })

  it('is all of the values when they are too few', () => {
    assert.deepEqual(medianInterval([3, 1, 2]), { low: 1, high: 3 })
    assert.deepEqual(medianInterval([7]), { low: 7, high: 7 })
  })
})

describe('quantile', () => {
  it('gives a value that was there and that the share does not exceed', () => {
    const values = Array.from({ length: 200 }, (_, i) => 200 - i)
    assert.deepEqual(
      [0, 0.5, 0.99, 1].map((share) => quantile(values, share)),
      [1, 100, 198, 200],
    )
  })
})
