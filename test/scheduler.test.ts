import './support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { FOR_ALL, LONG_WORK_TURN_MS, type LongWork, Scheduler, SliceClock } from '../src/scheduler.ts'

/** Notes each step; the last one is the result. */
function* steps(name: string, count: number, done: string[]): LongWork<string> {
  for (let i = 1; i < count; i += 1) {
    done.push(`${name}${i}`)
    yield
  }
  done.push(`${name}${count}`)
  return `${name}${count}`
}

/** A clock that goes on only with the steps of a work, by so many milliseconds each. */
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

/** How many steps of each work were done without one of another in between. */
function sliceLengths(done: readonly string[]): number[] {
  const lengths: number[] = []
  for (const [i, step] of done.entries()) {
    if (i > 0 && step[0] === done[i - 1]?.[0]) lengths.push((lengths.pop() ?? 0) + 1)
    else lengths.push(1)
  }
  return lengths
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
    assert.equal(await new Scheduler().run('a', steps('x', 3, [])), 'x3')
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
    assert.equal(await scheduler.run('a', steps('x', 3, [])), 'x3')
    isEnding = true
  })

  it('does short steps of a work together, for about a millisecond', async (t) => {
    const stepsOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    await Promise.all([
      scheduler.run('a', stepsOf('x', 100, 0.05, done)),
      scheduler.run('b', stepsOf('y', 100, 0.05, done)),
    ])
    const slices = sliceLengths(done)
    assert.ok(
      slices.slice(0, -2).every((length) => length >= 20 && length <= 22),
      `${slices}`,
    )
  })

  it('gives way at every step if it is told to', async () => {
    const scheduler = new Scheduler(0)
    const done: string[] = []
    const note = () => {
      done.push('event loop')
      noting = setImmediate(note)
    }
    let noting = setImmediate(note)
    await Promise.all([scheduler.run('a', steps('x', 3, done)), scheduler.run('b', steps('y', 3, done))])
    clearImmediate(noting)
    assert.equal(done.filter((each) => each !== 'event loop').length, 6)
    for (const [i, each] of done.entries())
      assert.ok(each === 'event loop' || i === 0 || done[i - 1] === 'event loop', `${done}`)
  })

  it('does the first slice of a work at once if it is told to, and the rest in turns', async (t) => {
    const stepsOf = heldClock(t)
    const scheduler = new Scheduler()
    const done: string[] = []
    const short = scheduler.runNow(FOR_ALL, steps('x', 2, done))
    const long = scheduler.runNow(FOR_ALL, stepsOf('y', 3, 1, done))
    assert.deepEqual(done, ['x1', 'x2', 'y1'])
    setImmediate(() => done.push('event loop'))
    assert.equal(await short, 'x2')
    assert.deepEqual(done, ['x1', 'x2', 'y1'], 'without a turn of the event loop')
    await long
    assert.deepEqual(
      done.slice(3).filter((each) => each !== 'event loop'),
      ['y2', 'y3'],
    )
  })

  it('rejects with what the first slice throws that it does at once', async () => {
    const failing = (function* (): LongWork<void> {
      yield
      throw new RangeError('too far')
    })()
    const scheduler = new Scheduler()
    await assert.rejects(scheduler.runNow(FOR_ALL, failing), new RangeError('too far'))
    assert.equal(await scheduler.runNow(FOR_ALL, steps('x', 3, [])), 'x3')
  })

  it('rejects with what a work throws, and goes on with the others', async () => {
    const scheduler = new Scheduler()
    const failing = (function* (): LongWork<void> {
      yield
      throw new RangeError('too far')
    })()
    const other = scheduler.run('a', steps('x', 4, []))
    await assert.rejects(scheduler.run('b', failing), new RangeError('too far'))
    assert.equal(await other, 'x4')
  })

  it('stops a work whose signal is aborted, at its next slice, and lets it clean up', async () => {
    const scheduler = new Scheduler(0)
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
    await scheduler.run('b', steps('x', 3, []))
    stop.abort(new Error('gone'))
    assert.deepEqual(done, ['cleaned up'])
    await assert.rejects(running, new Error('gone'))
  })

  it('begins nothing for a signal that is aborted already', async () => {
    const done: string[] = []
    const gone = AbortSignal.abort(new Error('gone'))
    await assert.rejects(new Scheduler().run('a', steps('x', 1, done), gone), new Error('gone'))
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

describe('the clock of a slice', () => {
  /** How many steps of so many milliseconds each there are in each of some slices. */
  const stepsIn = (t: TestContext, slices: number, ms: (step: number) => number) => {
    let now = 0
    let looks = 0
    t.mock.method(performance, 'now', () => {
      looks += 1
      return now
    })
    const clock = new SliceClock()
    const lengths = Array.from({ length: slices }, () => {
      // Others take their time in between.
      now += 100
      clock.begin()
      for (let step = 1; ; step++) {
        now += ms(step)
        if (clock.isOverAfterStep()) return step
      }
    })
    return { lengths, looks }
  }

  it('ends a slice after a millisecond', (t) => {
    assert.deepEqual(stepsIn(t, 3, () => 0.125).lengths, [8, 8, 8])
    assert.deepEqual(stepsIn(t, 3, () => 5).lengths, [1, 1, 1])
  })

  it('is not looked at after each short step', (t) => {
    const { lengths, looks } = stepsIn(t, 10, () => 0.000_5)
    for (const length of lengths) assert.ok(length >= 2_000 && length <= 2_064, `${length} steps`)
    assert.ok(looks <= 10 * 40, `${looks} looks`)
  })

  it('is looked at after each step again once they are long', (t) => {
    const { lengths } = stepsIn(t, 1, (step) => (step <= 1_000 ? 0.000_5 : 0.2))
    assert.ok((lengths[0] ?? 0) <= 1_000 + 64, `${lengths} steps`)
    const { lengths: later } = stepsIn(t, 1, (step) => (step <= 30 ? 0.000_5 : 0.2))
    assert.ok((later[0] ?? 0) <= 30 + 5 + 2, `${later} steps`)
  })
})
