import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DamagedFileError } from '../../src/errors.ts'
import { CREDENTIALS_POLL_MS, DocumentFollower } from '../../src/files/shared-document.ts'
import { createFailingFiles, holdUp, systemError } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Follows a file with the clock stopped; the test provides the content. */
async function follow(t: TestContext, known: readonly string[] = ['a']) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await temporaryFolder(t)
  const path = join(folder, 'things.json')
  await writeFile(path, '')
  const files = createFailingFiles()
  const log = createMemoryLog()
  let found: () => readonly string[] | undefined = () => known
  let size = 0
  let reads = 0
  const takenUp: unknown[] = []
  const document = {
    async read() {
      reads += 1
      return found()
    },
  }
  const takeUp = (content: unknown) => takenUp.push(content)
  const follower = new DocumentFollower({
    path,
    document,
    content: known,
    name: 'keys',
    takeUp,
    log,
    files,
  })
  t.after(() => follower.close())
  const looks = () => files.calls.filter((call) => call === `stat ${path}`).length
  const tick = () => t.mock.timers.tick(CREDENTIALS_POLL_MS)
  return {
    folder,
    files,
    log,
    reads: () => reads,
    takenUp,
    close: () => follower.close(),
    lookNow: () => follower.look(),
    tick,
    /** Replaces the content at once: a look that is under way must not see half of it. */
    async change(content: typeof found) {
      size += 1
      await writeFile(`${path}.new`, 'x'.repeat(size))
      found = content
      await rename(`${path}.new`, path)
    },
    /** Lets time pass until a look has begun and ended; only then can the next begin. */
    async look() {
      for (const before = looks(); looks() < before + 2; await nextTurn()) tick()
    },
  }
}

const damage = () => {
  throw new DamagedFileError('things.json', 0, 'the checksum differs', 'do this')
}

describe('a followed document', () => {
  it('is applied once after a change, also after a change before the first look', async (t) => {
    const { look, change, takenUp } = await follow(t)
    await change(() => ['a', 'b'])
    await look()
    await look()
    assert.deepEqual(takenUp, [['a', 'b']])
    await change(() => ['a'])
    await look()
    assert.deepEqual(takenUp, [['a', 'b'], ['a']])
  })

  it('is read again only when the file was replaced', async (t) => {
    const { look, change, reads } = await follow(t)
    for (let i = 0; i < 3; i += 1) await look()
    assert.equal(reads(), 1)
    await change(() => ['a'])
    for (let i = 0; i < 3; i += 1) await look()
    assert.equal(reads(), 2)
  })

  it('is not applied when a new file has the same content', async (t) => {
    const { look, change, takenUp, log } = await follow(t)
    await change(() => ['a'])
    await look()
    assert.deepEqual([takenUp, log.events], [[], []])
  })

  it('is applied only after its name is durable', async (t) => {
    const { look, tick, change, takenUp, log, files, folder } = await follow(t)
    await change(() => ['b'])
    const sync = holdUp(files, 'sync', folder)
    tick()
    await sync.begun
    assert.deepEqual(takenUp, [])
    sync.fail(systemError('EIO'))
    await look()
    assert.deepEqual([takenUp, log.events], [[['b']], ['keys_reload_failed']])
  })

  it('is not applied when the following ends meanwhile', async (t) => {
    const { change, takenUp, files, folder, close, tick } = await follow(t)
    const sync = holdUp(files, 'sync', folder)
    await change(() => ['b'])
    tick()
    await sync.begun
    close()
    sync.release()
    // Enough time for a look that ignores the end to apply the document.
    for (let turn = 0; turn < 5_000; turn++) await nextTurn()
    assert.deepEqual(takenUp, [])
  })

  it('that is damaged is reported and read once, and applied when it is repaired', async (t) => {
    const { look, change, takenUp, reads, log } = await follow(t)
    await change(damage)
    for (let i = 0; i < 3; i += 1) await look()
    assert.deepEqual([takenUp, log.events], [[], ['keys_reload_failed']])
    assert.match(log.lines[0] ?? '', /the checksum differs.*"in_force":"the keys from before"/)
    assert.equal(reads(), 1)
    await change(() => ['b'])
    await look()
    assert.deepEqual([takenUp, reads()], [[['b']], 2])
  })

  it('that is missing is reported, and nothing is applied', async (t) => {
    const { look, change, takenUp, log } = await follow(t)
    await change(() => undefined)
    await look()
    await look()
    assert.deepEqual([takenUp, log.events], [[], ['keys_missing']])
  })

  it('that cannot be read is retried, though the file is the same, and reported once', async (t) => {
    const { look, change, takenUp, log } = await follow(t)
    let failures = 3
    await change(() => {
      if (failures-- > 0) throw new Error('no memory')
      return ['b']
    })
    for (let i = 0; i < 4; i += 1) await look()
    assert.deepEqual([takenUp, log.events], [[['b']], ['keys_reload_failed']])
  })

  it('is looked at once more on request, after the look under way', async (t) => {
    const { files, change, lookNow, takenUp, tick } = await follow(t)
    const stat = holdUp(files, 'stat')
    tick()
    await stat.begun
    const asked = lookNow()
    await change(() => ['b'])
    stat.release()
    await asked
    assert.deepEqual(takenUp, [['b']])
    await change(() => ['c'])
    await lookNow()
    assert.deepEqual(takenUp, [['b'], ['c']])
  })

  it('is checked by one look at a time', async (t) => {
    const { files, tick } = await follow(t)
    const stat = holdUp(files, 'stat')
    tick()
    await stat.begun
    const before = files.calls.length
    for (let i = 0; i < 5; i += 1) tick()
    for (let turn = 0; turn < 5; turn += 1) await nextTurn()
    assert.equal(files.calls.length, before)
    stat.release()
  })
})
