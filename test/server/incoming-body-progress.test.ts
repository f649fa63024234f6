import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BodyMeter } from '../../src/server/incoming-request.ts'

describe('the progress of a body', () => {
  it('counts what arrived, and the time in which nothing was there', (t) => {
    let now = 1_000
    t.mock.method(performance, 'now', () => now)
    const progress = new BodyMeter()
    const look = (ms: number) => {
      now += ms
      return [progress.bytes, progress.waitedMs]
    }
    assert.deepEqual(look(5), [0, 0])
    progress.wait()
    assert.deepEqual(look(10), [0, 10])
    progress.wait()
    assert.deepEqual(look(10), [0, 20])
    progress.arrive(3)
    assert.deepEqual(look(100), [3, 20])
    progress.arrive(4)
    progress.wait()
    assert.deepEqual(look(1), [7, 21])
  })
})
