import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type DataPaths, dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { examineStore } from '../../../src/storage/file/file-examination.ts'
import { createFailingFiles, failOn } from '../../support/failing-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type FolderState, writeState } from './folder-state.ts'

/** During a compaction: a snapshot, the journal before it, and the one after it. */
const whole: FolderState = {
  snapshot: { adds: 'abc' },
  old: { after: 0, adds: 'abc' },
  journal: { after: 3, adds: 'd' },
}

async function folderWith(t: TestContext, state: FolderState): Promise<DataPaths> {
  const path = await temporaryFolder(t)
  await writeState(path, state)
  return dataPaths(path)
}

const examine = (folder: DataPaths, files = realFileSystem, mustExist = true) =>
  examineStore({ ...folder, files }, mustExist)

/** `name: words` of each sound file, and `name!` of each damaged one. */
async function told(folder: DataPaths, files = realFileSystem): Promise<string[]> {
  const { findings, stored } = await examine(folder, files)
  assert.equal(
    stored === undefined,
    findings.some(({ isDamage }) => isDamage),
  )
  return findings.map(({ name, words, isDamage }) => (isDamage ? `${name}!` : `${name}: ${words}`))
}

const ALONE = 'by itself as it was written'

describe('the examination of a store', () => {
  it('reports the last revision of each file, and reads the records', async (t) => {
    const folder = await folderWith(t, whole)
    assert.deepEqual(await told(folder), [
      'snapshot.json: 3 records, up to revision 3',
      'journal.old.jsonl: 3 changes, up to revision 3; it goes when the next snapshot is written',
      'journal.jsonl: 1 change, up to revision 4',
    ])
    const { stored } = await examine(folder)
    assert.deepEqual([stored?.store, stored?.index.count, stored?.index.revision], ['s', 4, 4])
  })

  it('reports that a journal ends in a change that is just being written', async (t) => {
    const folder = await folderWith(t, { journal: { after: 0, adds: 'a' } })
    await appendFile(folder.file(dataFiles.journal), 'half a change')
    assert.deepEqual(await told(folder), [
      'journal.jsonl: 1 change, up to revision 1; then 13 bytes of a change that is just being written, or that a crash cut off',
    ])
  })

  it('finds nothing in a new folder, and damage where there must be a journal', async (t) => {
    const folder = await folderWith(t, {})
    const { findings, stored } = await examine(folder, realFileSystem, false)
    assert.deepEqual([findings, stored?.index.count], [[], 0])
    assert.deepEqual(await told(folder), ['journal.jsonl!'])
  })

  for (const damaged of [dataFiles.snapshot, dataFiles.journalOld, dataFiles.journal]) {
    it(`reports damage of ${damaged} first, and the other files as sound`, async (t) => {
      const folder = await folderWith(t, whole)
      await truncate(folder.file(damaged), 5)
      const others = [dataFiles.snapshot, dataFiles.journalOld, dataFiles.journal].filter(
        (name) => name !== damaged,
      )
      assert.deepEqual(await told(folder), [`${damaged}!`, ...others.map((name) => `${name}: ${ALONE}`)])
    })
  }

  it('reports the damage of every file', async (t) => {
    const folder = await folderWith(t, whole)
    for (const name of [dataFiles.snapshot, dataFiles.journal]) await truncate(folder.file(name), 5)
    assert.deepEqual((await told(folder)).sort(), [
      'journal.jsonl!',
      `journal.old.jsonl: ${ALONE}`,
      'snapshot.json!',
    ])
  })

  it('reports a file that the disk cannot read as damaged, and names it', async (t) => {
    const folder = await folderWith(t, whole)
    const files = createFailingFiles()
    failOn(files, 'read', dataFiles.snapshot, 'EIO', Number.POSITIVE_INFINITY)
    const { findings } = await examine(folder, files)
    assert.equal(findings[0]?.name, dataFiles.snapshot)
    assert.match(findings[0]?.words ?? '', /EIO.*; restore from a backup/)
  })

  it('fails when the files cannot be opened', async (t) => {
    const folder = await folderWith(t, whole)
    const files = createFailingFiles()
    failOn(files, 'open', join('/', dataFiles.journal), 'EACCES')
    await assert.rejects(examine(folder, files), { code: 'EACCES' })
  })
})
