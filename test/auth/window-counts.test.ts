import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WindowCounts } from '../../src/auth/window-counts.ts'
import { holdClock } from '../support/held-clock.ts'

describe('WindowCounts', () => {
  it('counts by key and in all, from 0 again in each window', () => {
    const clock = holdClock()
    const counts = new WindowCounts(clock.make(), 1000)
    counts.add('a', 'a of 1')
    counts.add('a', 'a of 2')
    const now = () => [counts.of('a'), counts.of('a of 2'), counts.of('b'), counts.all]
    assert.deepEqual(now(), [2, 1, 0, 2])
    clock.advance(999)
    assert.deepEqual([...now(), counts.leftMs], [2, 1, 0, 2, 1])
    clock.advance(1)
    assert.deepEqual([...now(), counts.leftMs], [0, 0, 0, 0, 1000])
  })

  it('begins a window with the first call after the end of the one before', () => {
    const clock = holdClock()
    const counts = new WindowCounts(clock.make(), 1000)
    counts.add('a')
    clock.advance(1500)
    counts.add('a')
    assert.deepEqual([counts.of('a'), counts.leftMs], [1, 1000])
  })
})
