import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { lockFile, waitForLock } from '../../src/files/file-lock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a file lock', () => {
  it('can be held only once in a process', async (t) => {
    const path = join(await temporaryFolder(t), '.lock')
    const lock = lockFile(path)
    assert.ok(lock)
    assert.equal(lockFile(path), undefined)
    assert.equal(lockFile(path), undefined)
    lock.release()
    lock.release()
    const next = lockFile(path)
    assert.ok(next)
    next.release()
  })

  it('distinguishes any other failure from a held lock', async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'a'))
    assert.throws(() => lockFile(join(folder, 'a')))
    await writeFile(join(folder, 'b'), 'this is no database, and was not made by the program '.repeat(100))
    await chmod(join(folder, 'b'), 0o600)
    assert.throws(() => lockFile(join(folder, 'b')))
  })

  it('names the disk that fails or is full, and holds nothing then', async (t) => {
    const path = join(await temporaryFolder(t), '.lock')
    const [ioError, full, readPastEnd] = [10, 13, 10 + (2 << 8)]
    const codes = { [ioError]: 'SQLITE_IOERR', [full]: 'SQLITE_FULL', [readPastEnd]: 'SQLITE_IOERR' }
    for (const [errcode, code] of Object.entries(codes)) {
      const exec = t.mock.method(DatabaseSync.prototype, 'exec', () => {
        throw Object.assign(new Error('made by the test'), {
          code: 'ERR_SQLITE_ERROR',
          errcode: Number(errcode),
        })
      })
      assert.throws(() => lockFile(path), { name: 'Error', code, path })
      exec.mock.restore()
    }
    const lock = lockFile(path)
    assert.ok(lock)
    lock.release()
  })
})

const lock = { release() {} }

describe('waitForLock', () => {
  it('takes a free lock at once, and one that becomes free when it does', async () => {
    for (const held of [0, 1, 3]) {
      let tries = 0
      const taken = await waitForLock(async () => (tries++ < held ? undefined : lock))
      assert.deepEqual([taken, tries], [lock, held + 1])
    }
  })

  it('does not hide why a lock cannot be taken', async () => {
    const broken = new Error('no disk')
    await assert.rejects(
      waitForLock(() => Promise.reject(broken)),
      broken,
    )
  })
})
