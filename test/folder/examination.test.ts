import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { examineFolder } from '../../src/folder/examination.ts'
import { replaceState } from '../../src/folder/restore.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { smallBackup, smallFolder } from './small-backup.ts'

/** What is said of each file, and which are damaged. */
async function examined(folder: string) {
  const { findings } = await examineFolder(dataPaths(folder))
  return {
    said: Object.fromEntries(findings.map(({ name, words }) => [name, words])),
    damaged: findings.filter(({ isDamage }) => isDamage).map(({ name }) => name),
  }
}

describe('examineFolder', () => {
  it('finds a sound folder sound, and counts what is in its files', async (t) => {
    const { said, damaged } = await examined(await smallFolder(t))
    assert.deepEqual(damaged, [])
    assert.equal(said[dataFiles.accounts], '1 user, 1 client')
    assert.equal(said[dataFiles.keys], '1 signing key')
    assert.equal(said[dataFiles.revocations], '0 ended credentials')
  })

  for (const name of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations]) {
    it(`finds that ${name} is missing, or damaged`, async (t) => {
      const folder = await smallFolder(t)
      await writeFile(join(folder, name), 'damage\n')
      assert.deepEqual((await examined(folder)).damaged, [name])
      await rm(join(folder, name))
      const { said, damaged } = await examined(folder)
      assert.deepEqual(damaged, [name])
      assert.match(said[name] ?? '', /: the file is missing /)
    })
  }

  it('looks at the secrets of a folder without records, too', async (t) => {
    const folder = await temporaryFolder(t)
    await replaceState(dataPaths(folder), { ...smallBackup, revision: 0, lastId: 0, count: 0, records: [] })
    await rm(join(folder, dataFiles.keys))
    assert.deepEqual((await examined(folder)).damaged, [dataFiles.keys])
  })

  it('takes a half-written end of the ended credentials for no damage', async (t) => {
    const folder = await smallFolder(t)
    await appendFile(join(folder, dataFiles.revocations), 'half')
    const { said, damaged } = await examined(folder)
    assert.deepEqual(damaged, [])
    assert.match(said[dataFiles.revocations] ?? '', /^0 ended credentials; .*4 bytes/)
  })

  it('takes an empty folder for one whose first start did not come to its end', async (t) => {
    const { said, damaged } = await examined(await temporaryFolder(t))
    assert.deepEqual(damaged, [])
    assert.match(said[dataFiles.accounts] ?? '', /^not yet there: a first start/)
  })

  it('says what each other file is', async (t) => {
    const folder = await smallFolder(t)
    const others = {
      'audit.1.jsonl': /^who did what/,
      [dataFiles.initialCredentials]: /^secrets of the first start/,
      'journal.jsonl.torn-5-0a1b': /^a half-written end/,
      '.accounts.json.0123456789ab.tmp': /^being written, or left by a crash/,
      'before-restore-20260102T030405Z-0a1b': /^what was there before a restore/,
      notes: /^not of connbook/,
    }
    for (const name of Object.keys(others)) await writeFile(join(folder, name), '')
    const { said, damaged } = await examined(folder)
    assert.deepEqual(damaged, [])
    for (const [name, words] of Object.entries(others)) assert.match(said[name] ?? '', words, name)
  })
})
