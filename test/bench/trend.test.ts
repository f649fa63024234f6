import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { trendOf } from './trend.ts'

describe('trendOf', () => {
  it('leaves the beginning out', () => {
    assert.deepEqual(trendOf([1, 1, 5, 5, 5, 5], 1.1), { middle: 5, last: 5, isFlat: true })
  })

  it('finds what grows', () => {
    assert.equal(trendOf([10, 10, 10, 10, 11.5, 11.5], 1.1).isFlat, false)
  })

  it('takes medians, so that one disturbance does not count', () => {
    assert.equal(trendOf([10, 10, 10, 10, 10, 10, 10, 90, 10], 1.1).isFlat, true)
  })

  it('leaves what makes no whole third to the beginning', () => {
    assert.deepEqual(trendOf([7, 7, 1, 2], 3), { middle: 1, last: 2, isFlat: true })
  })
})
