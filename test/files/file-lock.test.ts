import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lockFile } from '../../src/files/file-lock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const NOBODY = 65534
const isRoot = process.getuid?.() === 0

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

  it('gives only a lock file that root created to the owner of the folder', {
    skip: isRoot ? false : 'only as root',
  }, async (t) => {
    const folder = await temporaryFolder(t)
    await chown(folder, NOBODY, NOBODY)
    const [made, found] = [join(folder, 'made'), join(folder, 'found')]
    await writeFile(found, '')
    for (const path of [made, found]) lockFile(path)?.release()
    assert.deepEqual([(await stat(made)).uid, (await stat(found)).uid], [NOBODY, 0])
    await writeFile(join(folder, 'elsewhere'), '')
    await symlink(join(folder, 'elsewhere'), join(folder, 'link'))
    lockFile(join(folder, 'link'))?.release()
    assert.equal((await stat(join(folder, 'elsewhere'))).uid, 0)
  })
})
