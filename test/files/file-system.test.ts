import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { realFileSystem } from '../../src/files/file-system.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a file of the real file system', () => {
  it('is written and read at any offset', async (t) => {
    const path = join(await temporaryFolder(t), 'file')
    const file = await realFileSystem.open(path, 'w+')
    t.after(() => file.close())
    await file.write(Buffer.from('-abcd-'), 1, 4, 0)
    await file.write(Buffer.from('X'), 0, 1, 2)
    const found = Buffer.alloc(4, '-')
    assert.equal((await file.read(found, 1, 2, 1)).bytesRead, 2)
    assert.equal(found.toString(), '-bX-')
    await file.truncate(3)
    assert.equal((await file.stat()).size, 3)
    assert.equal(await readFile(path, 'utf8'), 'abX')
  })

  it('grows at its end when it is opened for appending', async (t) => {
    const path = join(await temporaryFolder(t), 'file')
    const file = await realFileSystem.open(path, 'a', 0o600)
    t.after(() => file.close())
    for (const text of ['a', 'b']) await file.write(Buffer.from(text), 0, 1, null)
    assert.equal(await readFile(path, 'utf8'), 'ab')
    assert.equal((await realFileSystem.stat(path)).mode & 0o777, 0o600)
  })

  it('has its path and the offset in the error when it cannot be read', async (t) => {
    const folder = await temporaryFolder(t)
    const file = await realFileSystem.open(folder, 'r')
    t.after(() => file.close())
    await assert.rejects(file.read(Buffer.alloc(1), 0, 1, 7), (error: NodeJS.ErrnoException) => {
      assert.deepEqual([error.code, error.path], ['EISDIR', folder])
      assert.ok(error.message.endsWith(` "${folder}" at byte 7`), error.message)
      return true
    })
  })
})
