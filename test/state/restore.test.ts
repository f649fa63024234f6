import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { replaceState } from '../../src/state/restore.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { names, openStore } from '../support/store.ts'
import { takeBackup } from '../support/taken-backup.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { smallBackup, smallFolder } from './small-backup.ts'

const other = { ...smallBackup, count: 1, records: smallBackup.records.slice(0, 1) }
const keysOf = (folder: string) => readFile(join(folder, dataFiles.keys), 'utf8')

describe('replaceState', () => {
  it('fills an empty folder, and keeps nothing aside', async (t) => {
    const folder = await temporaryFolder(t)
    assert.equal(await replaceState(dataPaths(folder), smallBackup), undefined)
    assert.deepEqual((await takeBackup(dataPaths(folder))).accounts, smallBackup.accounts)
    const { store } = await openStore(t, folder, { mustExist: true })
    assert.deepEqual(names(store), ['c', 'e'])
  })

  it('replaces another state, with new keys, and keeps the old files aside', async (t) => {
    const folder = await smallFolder(t)
    const keys = await keysOf(folder)
    await writeFile(join(folder, 'notes'), 'mine')
    const aside = (await replaceState(dataPaths(folder), other)) ?? assert.fail('nothing is aside')
    assert.equal((await takeBackup(dataPaths(folder))).count, 1)
    assert.notEqual(await keysOf(folder), keys)
    assert.equal(await keysOf(aside), keys)
    assert.equal(await readFile(join(folder, 'notes'), 'utf8'), 'mine')
  })

  it('changes nothing when the new files cannot be written, and reports that', async (t) => {
    const folder = await smallFolder(t)
    const before = [await keysOf(folder), (await readdir(folder)).sort()]
    for (const name of [dataFiles.journal, dataFiles.revocations, dataFiles.keys, dataFiles.accounts]) {
      const files = createFailingFiles()
      failOn(files, 'write', name.slice(0, 7), 'ENOSPC', Number.POSITIVE_INFINITY)
      await assert.rejects(replaceState(dataPaths(folder, files), other), (error) => {
        assert.match(
          String(error),
          /\(ENOSPC\); nothing has changed; see whether the disk works and has room$/,
          name,
        )
        return error instanceof Error && 'code' in error && error.code === 'restore_failed'
      })
      assert.deepEqual([await keysOf(folder), (await readdir(folder)).sort()], before)
    }
  })

  it('is completed by the next start if it cannot move the files to their places', async (t) => {
    const folder = await smallFolder(t)
    const files = createFailingFiles()
    failOn(files, 'rename', join(folder, dataFiles.accounts), 'EIO')
    await assert.rejects(replaceState(dataPaths(folder, files), other), {
      code: 'restore_incomplete',
      message: `The restore to "${folder}" is not complete (EIO); start connbook, which completes it`,
    })
    const opened = await openDataFolder(folder)
    await opened.release()
    assert.notEqual(opened.completedRestore, undefined)
    assert.equal((await takeBackup(dataPaths(folder))).count, 1)
  })
})
