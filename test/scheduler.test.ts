import './support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { FOR_ALL, LONG_WORK_TURN_MS, type LongWork, Scheduler } from '../src/scheduler.ts'

/** Notes each slice; the last one is the result. */
function* slices(name: string, count: number, done: string[]): LongWork<string> {
  for (let i = 1; i < count; i += 1) {
    done.push(`${name}${i}`)
    yield
  }
  done.push(`${name}${count}`)
  return `${name}${count}`
}

/** A clock that goes on only with the slices of a work, by so many milliseconds each. */
function heldClock(t: TestContext) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  return function* (name: string, count: number, ms: number, done: string[]): LongWork<void> {
    for (let i = 1; i <= count; i += 1) {
      done.push(`${name}${i}`)
      now += ms
      if (i < count) yield
    }
  }
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

  it('lets callers take turns, and the works of one caller', async (t) => {
    const slicesOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all([
      scheduler.run('a', slicesOf('x', 2, 1, done)),
      scheduler.run('a', slicesOf('y', 2, 1, done)),
      scheduler.run('b', slicesOf('z', 4, 1, done)),
    ])
    assert.deepEqual(done, ['x1', 'z1', 'y1', 'z2', 'x2', 'z3', 'y2', 'z4'])
  })

  for (const [whose, other] of Object.entries({ 'another caller': 'b', 'the same caller': 'a' }))
    it(`shares the time equally with works of ${whose} that have longer slices`, async (t) => {
      const slicesOf = heldClock(t)
      const scheduler = new Scheduler()
      const done: string[] = []
      const all = [
        scheduler.run('a', slicesOf('short', 100, 1, done)),
        scheduler.run(other, slicesOf('long', 10, 10, done)),
      ]
      await all[0]
      const ahead = done.indexOf('short50')
      const longs = done.slice(0, ahead).filter((slice) => slice.startsWith('long'))
      assert.ok(longs.length >= 4 && longs.length <= 6, `${longs}`)
      await all[1]
    })

  it('remembers what a caller has used between its short works', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const scheduler = new Scheduler()
    const used = { a: 0, b: 0 }
    const use = (caller: 'a' | 'b', ms: number) => () => {
      used[caller] += ms
      now += ms
    }
    const pieces = async () => {
      for (let i = 0; i < 10; i += 1) await scheduler.once('a', use('a', 10))
    }
    const search = (function* (): LongWork<void> {
      for (let i = 0; i < 100; i += 1) {
        use('b', 1)()
        yield
      }
    })()
    void pieces()
    await scheduler.run('b', search)
    assert.ok(used.a >= 80 && used.a <= 100, `${used.a} ms`)
  })

  it('has eight works of a caller in progress at most', async (t) => {
    const slicesOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all(
      Array.from({ length: 9 }, (_, i) => scheduler.run('a', slicesOf(`${i} `, i === 0 ? 2 : 3, 1, done))),
    )
    assert.equal(done.indexOf('8 1'), done.indexOf('0 2') + 8, `${done}`)
  })

  it('gives half of the time to works for which everybody waits', async (t) => {
    const slicesOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all([
      ...['a', 'b', 'c'].map((caller) => scheduler.run(caller, slicesOf(caller, 2, 1, done))),
      scheduler.run(FOR_ALL, slicesOf('x', 2, 2, done)),
    ])
    assert.deepEqual(done, ['x1', 'a1', 'b1', 'x2', 'c1', 'a2', 'b2', 'c2'])
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

  it('waits while new connections come, of which each turn of the event loop accepts one', async (t) => {
    // Time passes only while the work is done.
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const scheduler = new Scheduler()
    const connections = 64
    const all = Promise.withResolvers<void>()
    let accepted = 0
    const server = createServer((socket) => {
      scheduler.giveWay()
      socket.destroy()
      accepted += 1
      if (accepted === connections) all.resolve()
    })
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    let slicesDone = 0
    const work = (function* (): LongWork<void> {
      while (accepted < connections) {
        slicesDone += 1
        now += LONG_WORK_TURN_MS
        yield
      }
    })()
    const { port } = server.address() as AddressInfo
    for (let i = 0; i < connections; i += 1) connect(port, '127.0.0.1').on('error', () => {})
    await Promise.all([all.promise, scheduler.run('a', work)])
    assert.ok(slicesDone < connections / 2, `${slicesDone} slices before the last connection was accepted`)
  })

  it('goes on with its works although new connections come all the time', async () => {
    const scheduler = new Scheduler()
    let isEnding = false
    const arrive = () => {
      scheduler.giveWay()
      if (!isEnding) setImmediate(arrive)
    }
    arrive()
    assert.equal(await scheduler.run('a', slices('x', 3, [])), 'x3')
    isEnding = true
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

  it('does not begin a work that waits, and drops it once its signal is aborted', async (t) => {
    const slicesOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    const stop = new AbortController()
    const first = scheduler.run('a', slicesOf('x', 2, 1, done))
    const second = scheduler.run('a', slicesOf('y', 2, 1, done), stop.signal)
    const third = scheduler.run('a', slicesOf('z', 2, 1, done))
    stop.abort(new Error('gone'))
    await assert.rejects(second, new Error('gone'))
    assert.deepEqual(done, [])
    await Promise.all([first, third])
    assert.deepEqual(done, ['x1', 'z1', 'x2', 'z2'])
  })

  it('lets a work that is in progress clean up as soon as its signal is aborted', async () => {
    const scheduler = new Scheduler()
    const done: string[] = []
    const stop = new AbortController()
    const work = (function* (): LongWork<void> {
      try {
        for (;;) yield
      } finally {
        done.push('cleaned up')
      }
    })()
    const running = scheduler.run('a', work, stop.signal)
    await scheduler.run('b', slices('x', 3, []))
    stop.abort(new Error('gone'))
    assert.deepEqual(done, ['cleaned up'])
    await assert.rejects(running, new Error('gone'))
  })

  it('begins nothing for a signal that is aborted already', async () => {
    const done: string[] = []
    const gone = AbortSignal.abort(new Error('gone'))
    await assert.rejects(new Scheduler().run('a', slices('x', 1, done), gone), new Error('gone'))
    assert.deepEqual(done, [])
  })

  it('counts the short works of a caller as one of its works', async (t) => {
    const slicesOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all([
      scheduler.run('a', slicesOf('x', 3, 1, done)),
      scheduler.once('a', () => slicesOf('1-', 1, 1, done).next()),
      scheduler.once('a', () => slicesOf('2-', 1, 1, done).next()),
    ])
    assert.deepEqual(done, ['x1', '1-1', 'x2', '2-1', 'x3'])
  })

  it('rejects with what a short work throws', async () => {
    const failing = () => {
      throw new RangeError('too far')
    }
    await assert.rejects(new Scheduler().once('a', failing), new RangeError('too far'))
  })

  it('lets the event loop come round between short works of which each adds the next', async () => {
    const scheduler = new Scheduler()
    const seen: string[] = []
    await scheduler.once('a', () => setImmediate(() => seen.push('somebody else')))
    await scheduler.once('a', () => seen.push('second'))
    assert.deepEqual(seen, ['somebody else', 'second'])
  })

  it('counts what follows a work at once as part of it', async () => {
    const scheduler = new Scheduler()
    const seen: string[] = []
    const busy = async (name: string) => {
      await scheduler.once(name, () => {})
      const end = performance.now() + 2 * LONG_WORK_TURN_MS
      while (performance.now() < end);
      seen.push(name)
      setImmediate(() => seen.push(`turn after ${name}`))
    }
    await Promise.all([busy('a'), busy('b')])
    assert.deepEqual(seen, ['a', 'turn after a', 'b'])
  })

  it('lets one socket go on in each turn, and reads what it has received before the next', async () => {
    const scheduler = new Scheduler()
    const seen: string[] = []
    const socket = (name: string) => ({
      resume() {
        seen.push(name)
        setImmediate(() => seen.push(`read from ${name}`))
      },
    })
    scheduler.resume('a', socket('a'))
    scheduler.resume('b', socket('b'))
    await scheduler.once('c', () => {})
    assert.deepEqual(seen, ['a', 'read from a', 'b', 'read from b'])
  })

  it('gives another caller its turn after each socket that goes on', async () => {
    const scheduler = new Scheduler()
    const seen: string[] = []
    for (let i = 1; i <= 100; i += 1) scheduler.resume('a', { resume: () => seen.push(`a${i}`) })
    scheduler.resume('b', { resume: () => seen.push('b') })
    await scheduler.once('c', () => seen.push('c'))
    assert.ok(seen.length <= 5, `${seen}`)
  })
})
