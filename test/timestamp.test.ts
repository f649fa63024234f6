import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { timestamp } from '../src/timestamp.ts'

describe('timestamp', () => {
  it('formats each millisecond in UTC, also when the clock is set back', (t) => {
    let now = 0
    t.mock.method(Date, 'now', () => now)
    const at = (ms: number) => {
      now = ms
      return timestamp()
    }
    const noon = Date.UTC(2026, 1, 3, 12)
    assert.deepEqual([noon, noon, noon + 1, noon - 1].map(at), [
      '2026-02-03T12:00:00.000Z',
      '2026-02-03T12:00:00.000Z',
      '2026-02-03T12:00:00.001Z',
      '2026-02-03T11:59:59.999Z',
    ])
  })
})
