import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { unlink, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { folderKeys } from '../../src/auth/folder-credentials.ts'
import {
  KEY_TAKE_UP_SECONDS,
  prepareKeys,
  replaceKeys,
  rotateKeys,
  secondsOf,
} from '../../src/auth/key-rotation.ts'
import { keysDocument, readKeys, type StoredKey, toSigningKey } from '../../src/auth/keys.ts'
import { LiveKeys } from '../../src/auth/live-keys.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { CREDENTIALS_POLL_MS } from '../../src/files/shared-document.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const HOUR = 3600

async function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await openedFolder(t)
  const held = holdClock()
  const clock = held.make()
  const keys = await prepareKeys(folderKeys(folder, false), HOUR, secondsOf(held.wall))
  const log = createMemoryLog()
  const files = createFailingFiles()
  const live = new LiveKeys(folderKeys({ ...folder, files }), keys, clock, log)
  t.after(() => live.close())
  const looks = () => files.calls.filter((call) => call.startsWith('stat ')).length
  return {
    folder,
    held,
    clock,
    live,
    log,
    files,
    /** Rotates as a command does, by the machine's clock. */
    rotate: async () => (await folderKeys(folder).edit((all) => rotateKeys(all, secondsOf(held.wall)))).after,
    replace: async () =>
      (await folderKeys(folder).edit((all) => replaceKeys(all, secondsOf(held.wall)))).after,
    stored: () => readKeys(folder, true),
    verifies: (...some: (StoredKey | undefined)[]) =>
      some.map((key) => live.verifying.some(({ header }) => key && header === toSigningKey(key).header)),
    /** Lets time pass until one poll of the file is complete: the next begins only then. */
    async look() {
      for (const before = looks(); looks() < before + 2; await nextTurn())
        t.mock.timers.tick(CREDENTIALS_POLL_MS)
    },
  }
}

describe('LiveKeys', () => {
  it('signs with a new key as soon as it reads it, and verifies with old ones until they end', async (t) => {
    const { held, live, log, look, rotate, verifies } = await setUp(t)
    const [first] = await rotate()
    await look()
    assert.equal(live.signing.header, toSigningKey(first ?? assert.fail()).header)
    held.advance(1000 * HOUR)
    const [second, , old] = await rotate()
    await look()
    assert.equal(live.signing.header, toSigningKey(second ?? assert.fail()).header)
    assert.deepEqual(verifies(second, first, old), [true, true, true])
    assert.deepEqual(log.events, ['keys_reloaded', 'keys_reloaded'])
    assert.equal(live.verifying, live.verifying)

    held.advance((KEY_TAKE_UP_SECONDS - 1) * 1000)
    assert.deepEqual(verifies(second, first, old), [true, true, true])
    held.advance(1000)
    assert.deepEqual(verifies(second, first, old), [true, true, false])
    held.advance(2000 * HOUR)
    assert.deepEqual(verifies(second, first, old), [true, false, false])
  })

  it('returns a new list whenever a key comes or goes, so that caches are dropped', async (t) => {
    const { held, live, look, rotate } = await setUp(t)
    const lists = [live.verifying]
    await rotate()
    await look()
    lists.push(live.verifying)
    held.advance(1000 * (HOUR + KEY_TAKE_UP_SECONDS))
    lists.push(live.verifying)
    assert.equal(new Set(lists).size, 3)
  })

  it('drops the old keys when all are replaced', async (t) => {
    const { look, replace, rotate, verifies } = await setUp(t)
    const rotated = await rotate()
    await look()
    const [key] = await replace()
    await look()
    assert.deepEqual(verifies(key, ...rotated), [true, false, false])
  })

  it('does not verify with a key that has ended before it starts', async (t) => {
    const { folder, held } = await setUp(t)
    const now = secondsOf(held.wall)
    const stored = rotateKeys(await readKeys(folder, true), now - HOUR - KEY_TAKE_UP_SECONDS)
    const live = new LiveKeys(folderKeys(folder), stored, held.make(), createMemoryLog())
    t.after(() => live.close())
    assert.deepEqual(live.verifying, [live.signing])
  })

  it('revives no key when the clock is set back', async (t) => {
    const { held, look, rotate, verifies } = await setUp(t)
    const [, old] = await rotate()
    await look()
    held.advance(1000 * (HOUR + KEY_TAKE_UP_SECONDS))
    assert.deepEqual(verifies(old), [false])
    held.wall = 0
    assert.deepEqual(verifies(old), [false])
  })

  it('lets a key verify, by its own clock, until its last token expires, also after a restart', async (t) => {
    const { held, clock, live, log, look, rotate, stored, verifies } = await setUp(t)
    // The machine's clock jumps forward and is corrected; connbook's clock followed and cannot go back.
    held.wall += 24_000 * HOUR
    const ahead = secondsOf(clock.now())
    held.wall -= 24_000 * HOUR
    const [signing, old] = await rotate()
    assert.ok((old?.until ?? 0) < ahead)
    await look()
    assert.deepEqual(verifies(signing, old), [true, true])
    await live.close()
    assert.deepEqual(await stored(), [signing, { ...old, until: ahead + HOUR }])
    held.advance(1000 * HOUR)
    assert.deepEqual(verifies(signing, old), [true, false])
    assert.deepEqual(log.events, ['keys_reloaded'])
  })

  it('logs that it cannot store the later end of a key', async (t) => {
    const { clock, files, held, live, log, look, rotate, verifies } = await setUp(t)
    held.wall += 24_000 * HOUR
    clock.now()
    held.wall -= 24_000 * HOUR
    const [, old] = await rotate()
    failOn(files, 'write', dataFiles.keys, 'ENOSPC')
    await look()
    await live.close()
    assert.deepEqual(verifies(old), [true])
    assert.deepEqual(log.events, ['keys_reloaded', 'keys_not_stored'])
  })

  const breakages: Record<string, [action: (path: string) => Promise<void>, event: string]> = {
    damaged: [(path) => writeFile(path, '{'), 'keys_reload_failed'],
    missing: [(path) => unlink(path), 'keys_missing'],
  }
  for (const [what, [damage, event]] of Object.entries(breakages)) {
    it(`keeps its keys while the file is ${what}, and logs that once`, async (t) => {
      const { files, folder, held, log, live, look, stored } = await setUp(t)
      const before = await stored()
      await look()
      await damage(folder.file(dataFiles.keys))
      for (let i = 0; i < 3; i += 1) await look()
      assert.deepEqual(live.verifying, [live.signing])
      assert.deepEqual(log.events, [event])
      assert.ok(files.calls.filter((call) => call.startsWith('readFile ')).length <= 2)
      const after = rotateKeys(before, secondsOf(held.wall))
      await keysDocument(folder).write(after)
      await look()
      assert.equal(live.signing.header, toSigningKey(after[0] ?? assert.fail()).header)
    })
  }

  it('keeps its keys when the file holds none; the next start creates new ones', async (t) => {
    const { folder, log, live, look, replace } = await setUp(t)
    await keysDocument(folder).write([])
    for (let i = 0; i < 3; i += 1) await look()
    assert.deepEqual(live.verifying, [live.signing])
    assert.deepEqual(log.events, ['keys_reload_failed'])
    const [key] = await replace()
    await look()
    assert.equal(live.signing.header, toSigningKey(key ?? assert.fail()).header)
  })

  it('takes up only keys that are on disk', async (t) => {
    const { files, live, log, look, rotate } = await setUp(t)
    const { header } = live.signing
    await rotate()
    failOn(files, 'sync', '', 'EIO', Number.POSITIVE_INFINITY)
    await look()
    assert.equal(live.signing.header, header)
    assert.deepEqual(log.events, ['keys_reload_failed'])
    files.before = () => {}
    await look()
    assert.notEqual(live.signing.header, header)
  })
})
