import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { examineFolder } from '../../src/state/examination.ts'
import { replaceState } from '../../src/state/restore.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { smallBackup, smallFolder } from './small-backup.ts'

/** The description of each file, and which ones are damaged. */
async function examined(folder: string) {
  const { findings } = await examineFolder(dataPaths(folder))
  return {
    said: Object.fromEntries(findings.map(({ name, words }) => [name, words])),
    damaged: findings.filter(({ isDamage }) => isDamage).map(({ name }) => name),
  }
}

describe('examineFolder', () => {
  it('finds no damage in a sound folder, and counts the content of its files', async (t) => {
    const { said, damaged } = await examined(await smallFolder(t))
    assert.deepEqual(damaged, [])
    assert.equal(said[dataFiles.accounts], '1 user, 1 client')
    assert.equal(said[dataFiles.keys], '1 signing key')
    assert.equal(said[dataFiles.revocations], '0 ended credentials')
  })

  for (const name of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations]) {
    it(`reports ${name} as damaged when it is missing or changed`, async (t) => {
      const folder = await smallFolder(t)
      await writeFile(join(folder, name), 'damage\n')
      assert.deepEqual((await examined(folder)).damaged, [name])
      await rm(join(folder, name))
      const { said, damaged } = await examined(folder)
      assert.deepEqual(damaged, [name])
      assert.match(said[name] ?? '', /: the file is missing /)
    })
  }

  it('also examines the secrets of a folder without records', async (t) => {
    const folder = await temporaryFolder(t)
    await replaceState(dataPaths(folder), { ...smallBackup, revision: 0, lastId: 0, count: 0, records: [] })
    await rm(join(folder, dataFiles.keys))
    assert.deepEqual((await examined(folder)).damaged, [dataFiles.keys])
  })

  it('does not report a torn tail of the ended credentials as damage', async (t) => {
    const folder = await smallFolder(t)
    await appendFile(join(folder, dataFiles.revocations), 'half')
    const { said, damaged } = await examined(folder)
    assert.deepEqual(damaged, [])
    assert.match(said[dataFiles.revocations] ?? '', /^0 ended credentials; .*4 bytes/)
  })

  it('treats an empty folder as an interrupted first start', async (t) => {
    const { said, damaged } = await examined(await temporaryFolder(t))
    assert.deepEqual(damaged, [])
    assert.match(said[dataFiles.accounts] ?? '', /^not yet there: a first start/)
  })

  it('describes each other file', async (t) => {
    const folder = await smallFolder(t)
    const others = {
      'audit.1.jsonl': /^who did what/,
      [dataFiles.initialCredentials]: /^secrets of the first start/,
      [dataFiles.history]: /^the history that a restored backup had/,
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
