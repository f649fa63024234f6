import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { createClock, openClockFloor } from '../../src/auth/clock.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const HOUR_MS = 3_600_000

describe('createClock', () => {
  it("follows the machine's clock", () => {
    const held = holdClock()
    const clock = held.make()
    assert.equal(clock.now(), held.wall)
    held.advance(1500)
    assert.equal(clock.now(), held.wall)
  })

  it('follows a jump forward at once', () => {
    const held = holdClock()
    const clock = held.make()
    held.wall += 24 * HOUR_MS
    assert.equal(clock.now(), held.wall)
  })

  for (const [what, setBack] of Object.entries({
    'back an hour': (wall: number) => wall - HOUR_MS,
    'to 1970': () => 0,
  })) {
    it(`runs on steadily when the machine's clock is set ${what}`, () => {
      const held = holdClock()
      const clock = held.make()
      const before = clock.now()
      held.wall = setBack(held.wall)
      assert.equal(clock.now(), before)
      held.advance(1000)
      held.advance(500)
      assert.equal(clock.now(), before + 1500)
      assert.equal(clock.now(), before + 1500)
    })
  }

  it("follows the machine's clock again once that has caught up", () => {
    const held = holdClock()
    const clock = held.make()
    const start = clock.now()
    held.wall -= HOUR_MS
    held.advance(1000)
    assert.equal(clock.now(), start + 1000)
    held.wall = start + 2000
    assert.equal(clock.now(), start + 2000)
  })

  it('never shows a time before one that is known to have passed', () => {
    const held = holdClock(0)
    const clock = held.make(5000)
    assert.equal(clock.now(), 5000)
    held.advance(10)
    assert.equal(clock.now(), 5010)
  })

  it('measures elapsed time regardless of the date', () => {
    const held = holdClock()
    const clock = held.make()
    held.advance(100)
    held.wall = 0
    assert.equal(clock.elapsed(), 100)
  })

  it("uses the machine's clocks when it is given none", async () => {
    const before = { now: Date.now(), elapsed: performance.now() }
    await new Promise(setImmediate) // The next turn of the event loop reads them.
    const clock = createClock()
    const read = { now: clock.now(), elapsed: clock.elapsed() }
    assert.ok(before.now <= read.now && read.now <= Date.now())
    assert.ok(before.elapsed <= read.elapsed && read.elapsed <= performance.now())
  })
})

async function setUp(t: TestContext) {
  const folder = await openedFolder(t)
  const files = createFailingFiles()
  const held = holdClock()
  const log = createMemoryLog()
  const open = () => openClockFloor({ ...folder, files }, { log, makeClock: held.make })
  const writes = () => files.calls.filter((call) => call.startsWith('rename ')).length
  return { folder, files, held, log, open, writes }
}

describe('the floor of the clock', () => {
  it('keeps what has expired expired, when the clock is set back and the process killed', async (t) => {
    const { held, open } = await setUp(t)
    const floor = await open()
    const now = floor.clock.now()
    floor.rememberExpired(now / 1000)
    await floor.remembering
    held.wall -= 3_600_000
    assert.equal((await open()).clock.now(), now)
  })

  it('is stored when it is closed', async (t) => {
    const { held, open } = await setUp(t)
    await (await open()).close()
    const before = held.wall
    held.wall = 0
    assert.equal((await open()).clock.now(), before)
  })

  it('is written only for what expired after the moment that is stored', async (t) => {
    const { held, open, writes } = await setUp(t)
    const floor = await open()
    const exp = held.wall / 1000
    floor.rememberExpired(exp)
    floor.rememberExpired(exp)
    await floor.remembering
    floor.rememberExpired(exp)
    assert.equal(floor.remembering, undefined)
    assert.equal(writes(), 1)
  })

  it('logs once that it cannot be stored, and is stored later', async (t) => {
    const { files, held, log, open } = await setUp(t)
    const floor = await open()
    const exp = held.wall / 1000
    failOn(files, 'write', dataFiles.clock, 'ENOSPC', 2)
    for (let i = 0; i < 3; i += 1) {
      floor.rememberExpired(exp)
      await floor.remembering
    }
    assert.deepEqual(log.events, ['clock_floor_not_stored'])
    assert.equal(floor.remembering, undefined)
    held.wall = 0
    assert.equal((await open()).clock.now(), exp * 1000)
  })

  it('is refused if its file is damaged', async (t) => {
    const { folder, open } = await setUp(t)
    await (await open()).close()
    await writeFile(folder.file(dataFiles.clock), '{}')
    await assert.rejects(open(), DamagedFileError)
  })
})
