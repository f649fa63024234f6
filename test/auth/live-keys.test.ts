import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { folderKeys } from '../../src/auth/folder-credentials.ts'
import {
  KEY_TAKE_UP_SECONDS,
  prepareKeys,
  replaceKeys,
  rotateKeys,
  secondsOf,
} from '../../src/auth/key-rotation.ts'
import { readKeys, type StoredKey, toSigningKey } from '../../src/auth/keys.ts'
import { LiveKeys } from '../../src/auth/live-keys.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const HOUR = 3600

async function setUp(t: TestContext) {
  const folder = await openedFolder(t)
  const held = holdClock()
  const clock = held.make()
  const keys = await prepareKeys(folderKeys(folder, false), HOUR, secondsOf(held.wall))
  const log = createMemoryLog()
  const files = createFailingFiles()
  const document = folderKeys({ ...folder, files })
  const live = new LiveKeys(document, keys, clock, log)
  t.after(() => live.close())
  return {
    folder,
    held,
    clock,
    live,
    log,
    files,
    /** Rotates by the machine's clock. */
    rotate: async () => (await document.edit((all) => rotateKeys(all, secondsOf(held.wall)))).after,
    replace: async () => (await document.edit((all) => replaceKeys(all, secondsOf(held.wall)))).after,
    stored: () => readKeys(folder, true),
    verifies: (...some: (StoredKey | undefined)[]) =>
      some.map((key) => live.verifying.some(({ header }) => key && header === toSigningKey(key).header)),
  }
}

describe('LiveKeys', () => {
  it('signs with a new key as soon as it is there, and verifies with old ones until they end', async (t) => {
    const { held, live, rotate, verifies } = await setUp(t)
    const [first] = await rotate()
    assert.equal(live.signing.header, toSigningKey(first ?? assert.fail()).header)
    held.advance(1000 * HOUR)
    const [second, , old] = await rotate()
    assert.equal(live.signing.header, toSigningKey(second ?? assert.fail()).header)
    assert.deepEqual(verifies(second, first, old), [true, true, true])
    assert.equal(live.verifying, live.verifying)

    held.advance((KEY_TAKE_UP_SECONDS - 1) * 1000)
    assert.deepEqual(verifies(second, first, old), [true, true, true])
    held.advance(1000)
    assert.deepEqual(verifies(second, first, old), [true, true, false])
    held.advance(2000 * HOUR)
    assert.deepEqual(verifies(second, first, old), [true, false, false])
  })

  it('returns a new list whenever a key comes or goes, so that caches are dropped', async (t) => {
    const { held, live, rotate } = await setUp(t)
    const lists = [live.verifying]
    await rotate()
    lists.push(live.verifying)
    held.advance(1000 * (HOUR + KEY_TAKE_UP_SECONDS))
    lists.push(live.verifying)
    assert.equal(new Set(lists).size, 3)
  })

  it('drops the old keys when all are replaced', async (t) => {
    const { replace, rotate, verifies } = await setUp(t)
    const rotated = await rotate()
    const [key] = await replace()
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
    const { held, rotate, verifies } = await setUp(t)
    const [, old] = await rotate()
    held.advance(1000 * (HOUR + KEY_TAKE_UP_SECONDS))
    assert.deepEqual(verifies(old), [false])
    held.wall = 0
    assert.deepEqual(verifies(old), [false])
  })

  it('lets a key verify, by its own clock, until its last token expires, also after a restart', async (t) => {
    const { held, clock, live, log, rotate, stored, verifies } = await setUp(t)
    // The machine's clock jumps forward and is corrected; connbook's clock followed and cannot go back.
    held.wall += 24_000 * HOUR
    const ahead = secondsOf(clock.now())
    held.wall -= 24_000 * HOUR
    const [signing, old] = await rotate()
    assert.ok((old?.until ?? 0) < ahead)
    assert.deepEqual(verifies(signing, old), [true, true])
    await live.close()
    assert.deepEqual(await stored(), [signing, { ...old, until: ahead + HOUR }])
    held.advance(1000 * HOUR)
    assert.deepEqual(verifies(signing, old), [true, false])
    assert.deepEqual(log.events, [])
  })

  it('logs that it cannot store the later end of a key', async (t) => {
    const { clock, files, held, live, log, rotate, verifies } = await setUp(t)
    held.wall += 24_000 * HOUR
    clock.now()
    held.wall -= 24_000 * HOUR
    const [, old] = await rotate()
    failOn(files, 'write', dataFiles.keys, 'ENOSPC')
    await live.close()
    assert.deepEqual(verifies(old), [true])
    assert.deepEqual(log.events, ['keys_not_stored'])
  })
})
