import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, rmdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FolderRefusedError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { readBetweenRestores } from '../../src/folder/used-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('readBetweenRestores', () => {
  it('reads again when the keys have changed, even with the same inode', async (t) => {
    const folder = await temporaryFolder(t)
    const keys = join(folder, dataFiles.keys)
    await writeFile(keys, '')
    let reads = 0
    const read = async () => {
      reads += 1
      if (reads === 1) await utimes(keys, 1, 1)
      return reads
    }
    assert.equal(await readBetweenRestores(dataPaths(folder), read), 2)
    assert.equal(await readBetweenRestores(dataPaths(folder), read), 3)
  })

  it('gives up when the keys keep changing, and while a restore is running', async (t) => {
    const folder = await temporaryFolder(t)
    const keys = join(folder, dataFiles.keys)
    await writeFile(keys, '')
    let reads = 0
    const read = async () => {
      reads += 1
      await utimes(keys, reads, reads)
    }
    await assert.rejects(readBetweenRestores(dataPaths(folder), read), FolderRefusedError)
    const restore = join(folder, 'restore-20260101T000000Z-012345.begun')
    const before = reads
    await mkdir(restore)
    await assert.rejects(readBetweenRestores(dataPaths(folder), read), FolderRefusedError)
    assert.equal(reads, before)
    await rmdir(restore)
  })
})
