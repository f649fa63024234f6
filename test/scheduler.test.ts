import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LongWork, Scheduler } from '../src/scheduler.ts'

/** Notes each slice; the last one is the result. */
function* slices(name: string, count: number, done: string[]): LongWork<string> {
  for (let i = 1; i < count; i += 1) {
    done.push(`${name}${i}`)
    yield
  }
  done.push(`${name}${count}`)
  return `${name}${count}`
}

/** Takes up the whole of a turn. */
function* busySlices(count: number): LongWork<void> {
  for (let i = 0; i < count; i += 1) {
    const end = performance.now() + 6
    while (performance.now() < end);
    yield
  }
}

describe('the scheduler', () => {
  it('returns the result of a work', async () => {
    assert.equal(await new Scheduler().run('a', slices('x', 3, [])), 'x3')
  })

  it('lets callers take turns, and does the works of one caller one after another', async () => {
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all([
      scheduler.run('a', slices('x', 2, done)),
      scheduler.run('a', slices('y', 2, done)),
      scheduler.run('b', slices('z', 3, done)),
    ])
    assert.deepEqual(done, ['x1', 'z1', 'x2', 'z2', 'y1', 'z3', 'y2'])
  })

  it('lets the event loop come round between two turns', async () => {
    const scheduler = new Scheduler()
    let turns = 0
    const count = () => {
      turns += 1
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    await scheduler.run('a', busySlices(5))
    clearImmediate(counting)
    assert.ok(turns >= 4, `${turns} turns`)
  })

  it('rejects with what a work throws, and goes on with the others', async () => {
    const scheduler = new Scheduler()
    const failing = (function* (): LongWork<void> {
      yield
      throw new RangeError('too far')
    })()
    const other = scheduler.run('a', slices('x', 4, []))
    await assert.rejects(scheduler.run('b', failing), new RangeError('too far'))
    assert.equal(await other, 'x4')
  })

  it('stops a work whose signal is aborted, at its next slice, and lets it clean up', async () => {
    const scheduler = new Scheduler()
    const done: string[] = []
    const stop = new AbortController()
    const work = (function* (): LongWork<void> {
      try {
        for (;;) {
          done.push('slice')
          stop.abort(new Error('gone'))
          yield
        }
      } finally {
        done.push('cleaned up')
      }
    })()
    await assert.rejects(scheduler.run('a', work, stop.signal), new Error('gone'))
    assert.deepEqual(done, ['slice', 'cleaned up'])
  })
})
