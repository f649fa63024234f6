import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { openClockFloor } from '../../src/auth/clock-floor.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

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
