import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { METRICS_KEPT_MS, metricsHandlers } from '../../src/resources/metrics.ts'
import { holdClock } from '../support/held-clock.ts'
import { holdTurns } from '../support/held-turns.ts'

function setUp() {
  const thing = { value: 1, reads: 0 }
  const samples = () => {
    thing.reads += 1
    if (Number.isNaN(thing.value)) throw new Error('made by the test')
    return [{ value: thing.value }]
  }
  const clock = holdClock()
  const turns = holdTurns()
  const family = { name: 'connbook_things', help: 'Things.', type: 'gauge', samples } as const
  const handlers = metricsHandlers([family], turns.scheduler, clock.make())
  const read = (query = '') => handlers.read({ query })
  const shown = async () => {
    const reply = Promise.resolve(read())
    turns.takeTurns()
    return /^connbook_things (.*)$/m.exec(String((await reply).body))?.[1]
  }
  return { thing, clock, turns, read, shown }
}

describe('the metrics', () => {
  it('are figures as Prometheus text that no cache keeps', async () => {
    const { read, turns } = setUp()
    const reply = Promise.resolve(read())
    turns.takeTurns()
    const { status, headers } = await reply
    assert.equal(status, 200)
    assert.deepEqual(headers, {
      'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      'Cache-Control': 'no-store',
    })
  })

  it('have no parameters', () => {
    const { read } = setUp()
    assert.throws(() => read('x=1'), {
      message: 'The query is not valid',
      faults: [{ field: 'x', detail: 'is not a parameter here: there are none' }],
    })
  })

  it('are kept for half a second', async () => {
    const { thing, clock, turns, read, shown } = setUp()
    assert.equal(await shown(), '1')
    thing.value = 2
    clock.advance(METRICS_KEPT_MS - 1)
    assert.ok(!(read() instanceof Promise))
    assert.equal(await shown(), '1')
    clock.advance(1)
    assert.equal(await shown(), '2')
    assert.deepEqual([thing.reads, turns.callers.length], [2, 2])
  })

  it('are made once for all who ask meanwhile', async () => {
    const { thing, turns, read } = setUp()
    const replies = Array.from({ length: 250 }, () => read())
    assert.equal(thing.reads, 0)
    assert.equal(turns.waiting(), 1)
    turns.takeTurns()
    assert.equal(new Set(await Promise.all(replies)).size, 1)
    assert.equal(thing.reads, 1)
  })

  it('are made again after a failure', async () => {
    const { thing, shown } = setUp()
    thing.value = Number.NaN
    await assert.rejects(shown(), /made by the test/)
    thing.value = 3
    assert.equal(await shown(), '3')
  })
})
