import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { quantile, summarize } from './statistics.ts'

describe('summarize', () => {
  it('takes the middle value by size, whatever the order', () => {
    assert.deepEqual(summarize([10, 2, 9]), { median: 9, min: 2, max: 10 })
  })

  it('takes the mean of the two in the middle', () => {
    assert.deepEqual(summarize([4, 1, 3, 100]), { median: 3.5, min: 1, max: 100 })
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
