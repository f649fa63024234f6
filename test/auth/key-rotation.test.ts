import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { folderKeys } from '../../src/auth/folder-credentials.ts'
import {
  endOfTokens,
  extendKey,
  KEY_TAKE_UP_SECONDS,
  prepareKeys,
  replaceKeys,
  rotateKeys,
} from '../../src/auth/key-rotation.ts'
import { createKey, keysDocument, readKeys, type StoredKey } from '../../src/auth/keys.ts'
import { TooManyKeysError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import type { DataFolder } from '../../src/files/owned-folder.ts'
import { DURATION_SECONDS_MAX, KEYS_MAX } from '../../src/limits.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const NOW = 1_800_000_000
const HOUR = 3600

/** A key as older versions stored it: with these members only. */
const plain: StoredKey = { id: 'plain', secret: Buffer.alloc(32, 1).toString('base64url') }

const ids = (keys: readonly StoredKey[]) => keys.map(({ id }) => id)

describe('rotateKeys', () => {
  it('puts a new key first; the old one verifies until its last token expires', () => {
    const old = createKey(NOW, HOUR)
    const [signing, superseded, ...others] = rotateKeys([old], NOW + 5)
    assert.deepEqual(others, [])
    assert.notEqual(signing?.id, old.id)
    assert.notEqual(signing?.secret, old.secret)
    assert.deepEqual([signing?.created, signing?.ttl, signing?.until], [NOW + 5, HOUR, undefined])
    assert.deepEqual(superseded, { ...old, until: NOW + 5 + HOUR + KEY_TAKE_UP_SECONDS })
  })

  it('lets a key of unknown token lifetime verify for the longest possible one', () => {
    const [signing, superseded] = rotateKeys([plain], NOW)
    assert.equal(superseded?.until, NOW + DURATION_SECONDS_MAX + KEY_TAKE_UP_SECONDS)
    assert.equal(signing?.ttl, undefined)
  })

  it('keeps the end times of keys superseded before, and drops ended keys', () => {
    const first = createKey(NOW, HOUR)
    const second = rotateKeys([first], NOW)
    const end = second[1]?.until ?? 0
    const third = rotateKeys(second, end - 1)
    assert.deepEqual(ids(third).slice(1), ids(second))
    assert.equal(third[2]?.until, end)
    assert.deepEqual(ids(rotateKeys(second, end)).slice(1), [second[0]?.id])
  })

  it('refuses to exceed the maximum of keys, and says when there is room', () => {
    let keys: readonly StoredKey[] = [createKey(NOW, HOUR)]
    for (let i = 1; i < KEYS_MAX; i += 1) keys = rotateKeys(keys, NOW)
    assert.equal(keys.length, KEYS_MAX)
    const end = NOW + HOUR + KEY_TAKE_UP_SECONDS
    assert.throws(
      () => rotateKeys(keys, NOW),
      (error) => {
        assert.ok(error instanceof TooManyKeysError)
        const at = new Date(end * 1000).toISOString().slice(0, 19)
        return error.message.includes(`wait until ${at}Z`) && error.message.includes('keys revoke-all')
      },
    )
    assert.equal(rotateKeys(keys, end).length, 2)
  })
})

describe('replaceKeys', () => {
  it('leaves one new key, with the token lifetime of the server', () => {
    const old = { ...createKey(NOW, 2 * HOUR), serverTtl: HOUR }
    const [signing, ...others] = replaceKeys([old, plain], NOW)
    assert.deepEqual(others, [])
    assert.ok(signing !== undefined && signing.secret !== old.secret)
    assert.deepEqual([signing.ttl, signing.serverTtl], [HOUR, HOUR])
  })
})

describe('extendKey', () => {
  const keys = rotateKeys([createKey(NOW, HOUR)], NOW)
  const [signing, old = assert.fail()] = keys
  const end = old.until ?? assert.fail()

  it('moves the end of one superseded key to a later time only, and changes no other key', () => {
    assert.deepEqual(extendKey(keys, old.id, end + 1), [signing, { ...old, until: end + 1 }])
    assert.equal(extendKey(keys, old.id, end), keys)
    assert.equal(extendKey(keys, signing?.id ?? '', end + 1), keys)
    assert.equal(extendKey(keys, 'unknown', end + 1), keys)
  })
})

describe('prepareKeys', () => {
  const prepare = (folder: DataFolder, ttlSeconds: number, isInUse = true) =>
    prepareKeys(folderKeys(folder, isInUse), ttlSeconds, NOW)
  const store = (folder: DataFolder, keys: StoredKey[]) => keysDocument(folder).write(keys)

  it('creates a key if there is none, or if the folder is not yet in use', async (t) => {
    const folder = await openedFolder(t)
    const made = await prepare(folder, HOUR, false)
    assert.deepEqual(made, await readKeys(folder, true))
    assert.deepEqual([made.length, made[0]?.created, made[0]?.ttl], [1, NOW, HOUR])
    assert.notDeepEqual(await prepare(folder, HOUR, false), made)
    await store(folder, [])
    assert.equal((await prepare(folder, HOUR)).length, 1)
  })

  it('creates for a command, which issues no token, a key that ends at once when it is superseded', async (t) => {
    const folder = await openedFolder(t)
    const keys = await prepareKeys(folderKeys(folder, false), undefined, NOW)
    const [, superseded] = rotateKeys(keys, NOW)
    assert.equal(superseded?.until, NOW + KEY_TAKE_UP_SECONDS)
  })

  it('writes nothing when nothing has changed', async (t) => {
    const folder = await openedFolder(t)
    const made = await prepare(folder, HOUR, false)
    const files = createFailingFiles()
    assert.deepEqual(await prepareKeys(folderKeys({ ...folder, files }), HOUR, NOW), made)
    assert.deepEqual(
      files.calls.filter((call) => /^(open|rename) /.test(call)),
      [],
    )
  })

  it('stores a longer token lifetime for the current key, a shorter one for the next key only', async (t) => {
    const folder = await openedFolder(t)
    await prepare(folder, HOUR, false)
    for (const [ttlSeconds, longest] of [
      [2 * HOUR, 2 * HOUR],
      [60, 2 * HOUR],
    ] as const) {
      const [key] = await prepare(folder, ttlSeconds)
      assert.deepEqual([key?.ttl, key?.serverTtl], [longest, ttlSeconds])
      assert.deepEqual(await readKeys(folder, true), [key])
    }
    const { after } = await folderKeys(folder).edit((keys) => rotateKeys(keys, NOW))
    assert.equal(after[0]?.ttl, 60)
    assert.equal(after[1]?.until, NOW + 2 * HOUR + KEY_TAKE_UP_SECONDS)
  })

  it('assumes that the tokens of an older key have the longest possible lifetime', async (t) => {
    const folder = await openedFolder(t)
    await store(folder, [plain])
    assert.deepEqual(await prepare(folder, HOUR), [{ ...plain, ttl: DURATION_SECONDS_MAX, serverTtl: HOUR }])
    const { after } = await folderKeys(folder).edit((keys) => rotateKeys(keys, NOW))
    assert.equal(after[0]?.ttl, HOUR)
    assert.equal(after[1]?.until, endOfTokens(plain, NOW) + KEY_TAKE_UP_SECONDS)
  })

  it('fails if the lifetime cannot be stored before tokens are issued', async (t) => {
    const folder = await openedFolder(t)
    await prepare(folder, HOUR, false)
    const before = await readFile(folder.file(dataFiles.keys), 'utf8')
    const files = createFailingFiles()
    failOn(files, 'write', dataFiles.keys, 'ENOSPC')
    await assert.rejects(prepareKeys(folderKeys({ ...folder, files }), 2 * HOUR, NOW), { code: 'ENOSPC' })
    assert.equal(await readFile(folder.file(dataFiles.keys), 'utf8'), before)
  })
})

describe('an edit of the keys of a folder', () => {
  it('edits the keys stored at that time, and returns the keys before and after', async (t) => {
    const folder = await openedFolder(t)
    const made = await prepareKeys(folderKeys(folder, false), HOUR, NOW)
    const first = await folderKeys(folder).edit((keys) => rotateKeys(keys, NOW))
    assert.deepEqual(first.before, made)
    const { before, after } = await folderKeys(folder).edit((keys) => rotateKeys(keys, NOW))
    assert.deepEqual(before, first.after)
    assert.deepEqual(await readKeys(folder, true), after)
  })

  it('changes nothing when the edit throws', async (t) => {
    const folder = await openedFolder(t)
    const made = await prepareKeys(folderKeys(folder, false), HOUR, NOW)
    await assert.rejects(folderKeys(folder).edit(() => Promise.reject(new Error('made by the test'))))
    assert.deepEqual(await readKeys(folder, true), made)
  })
})
