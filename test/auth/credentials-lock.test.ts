import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withCredentialsLock } from '../../src/auth/credentials-lock.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { lockFile } from '../../src/files/file-lock.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('withCredentialsLock', () => {
  it('removes the leftovers of a killed command, and nothing else', async (t) => {
    const folder = await temporaryFolder(t)
    const names = [
      '.accounts.json.0123456789ab.tmp',
      '.keys.json.0123456789ab.tmp',
      '.journal.jsonl.0123456789ab.tmp',
      '.other.0123456789ab.tmp',
    ]
    for (const name of names) await writeFile(join(folder, name), '')
    await withCredentialsLock(dataPaths(folder), async () => {})
    for (const name of names.slice(0, 2))
      await assert.rejects(readFile(join(folder, name)), { code: 'ENOENT' })
    for (const name of names.slice(2)) await readFile(join(folder, name))
  })

  it('releases the lock when the action fails', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(
      withCredentialsLock(dataPaths(folder), () => Promise.reject(new Error('made by the test'))),
    )
    assert.equal(await withCredentialsLock(dataPaths(folder), async () => 'done'), 'done')
  })

  it('waits for another holder without blocking the process', async (t) => {
    const folder = await temporaryFolder(t)
    const other = lockFile(join(folder, dataFiles.accountsLock))
    const files = createFailingFiles()
    const { promise: triedAgain, resolve } = Promise.withResolvers<void>()
    let tries = 0
    files.before = (operation) => {
      if (operation === 'access' && ++tries === 2) resolve()
    }
    const done: string[] = []
    const waiting = withCredentialsLock(dataPaths(folder, files), async () => done.push('this'))
    await triedAgain
    done.push('other')
    other?.release()
    await waiting
    assert.deepEqual(done, ['other', 'this'])
  })
})
