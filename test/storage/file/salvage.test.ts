import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { type DataPaths, dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { encodeFrame } from '../../../src/journal/frame.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { type SalvagedRecords, salvageStore } from '../../../src/storage/file/file-storage.ts'
import { writeSnapshot } from '../../../src/storage/file/snapshot.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { createFailingFiles, failOn } from '../../support/failing-files.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const record = (id: number, name: string, port = 22) => new Configuration(id, draft(name, { port }))
const add = (id: number, name: string) => ({ add: record(id, name) })
const modify = (id: number, before: string, name: string, port = 22) => {
  return { modify: record(id, name, port), name: before }
}
const remove = (name: string) => ({ remove: name })

interface Files {
  readonly snapshot?: { records: Configuration[]; revision: number; lastId: number }
  readonly old?: { after: number; store?: string; frames: readonly object[][] }
  readonly journal?: { after: number; store?: string; frames: readonly object[][] }
}

/** A folder with such files; each inner list of changes is one frame. */
async function folderWith(t: TestContext, { snapshot, old, journal }: Files): Promise<DataPaths> {
  const folder = dataPaths(await temporaryFolder(t))
  if (snapshot !== undefined) {
    const { records, ...header } = snapshot
    const hasLabels = records.some(({ labels }) => labels !== undefined)
    const whole = { store: 's', count: records.length, hasLabels, ...header }
    await writeSnapshot(folder.file(dataFiles.snapshot), whole, records, realFileSystem)
  }
  for (const [name, file] of [
    [dataFiles.journalOld, old],
    [dataFiles.journal, journal],
  ] as const) {
    if (file === undefined) continue
    const { after, store = 's', frames } = file
    let { bytes, crc, revision } = encodeJournalStart({ store, after, version: CHANGE_VERSION }, [])
    for (const changes of frames) {
      const frame = encodeFrame(crc, revision + 1, JSON.stringify(changes))
      bytes = Buffer.concat([bytes, frame.bytes])
      crc = frame.crc
      revision += changes.length
    }
    await writeFile(folder.file(name), bytes)
  }
  return folder
}

/** Replaces a text in a file by NULs, as a lost block of a disk. */
async function wipe(folder: DataPaths, name: keyof typeof dataFiles, text: string | RegExp) {
  const path = folder.file(dataFiles[name])
  const before = await readFile(path, 'latin1')
  const after = before.replace(text, (found) => '\0'.repeat(found.length))
  assert.notEqual(after, before)
  await writeFile(path, after, 'latin1')
}

/** Changes a text in a file. */
async function change(folder: DataPaths, name: keyof typeof dataFiles, text: string, changed: string) {
  const path = folder.file(dataFiles[name])
  const before = await readFile(path, 'utf8')
  assert.ok(before.includes(text))
  await writeFile(path, before.replace(text, changed))
}

const salvage = (folder: DataPaths) => salvageStore(folder)
const shown = ({ records }: SalvagedRecords) => records.map(({ id, name, port }) => `${id} ${name} ${port}`)

/** Three records up to revision 4 in the snapshot, and six frames after it. */
const whole: Files = {
  snapshot: { records: [record(1, 'a'), record(2, 'b'), record(3, 'c')], revision: 4, lastId: 3 },
  journal: {
    after: 4,
    frames: [
      [add(4, 'd')],
      [modify(1, 'a', 'a', 80)],
      [remove('b')],
      [add(5, 'b')],
      [modify(4, 'd', 'D')],
      [add(6, 'f'), add(7, 'g')],
    ],
  },
}

describe('the salvage of records', () => {
  it('gives nothing for a folder without files', async (t) => {
    const { records, store, revision, lastId, unreadable } = await salvage(await folderWith(t, {}))
    assert.deepEqual([records, store, revision, lastId, unreadable], [[], undefined, 0, 0, 0])
  })

  it('gives everything in sound files', async (t) => {
    const found = await salvage(await folderWith(t, whole))
    assert.deepEqual(shown(found), ['1 a 80', '3 c 22', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual([found.store, found.revision, found.lastId, found.missing], ['s', 11, 7, []])
    assert.equal(found.unreadable, 0)
  })

  it('applies the frames behind a lost one, and names the missing revisions', async (t) => {
    const folder = await folderWith(t, whole)
    await wipe(folder, 'journal', /[^\n]+"modify":{"id":1[^\n]+/)
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 22', '3 c 22', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual([found.missing, found.misfits], [[{ first: 6, last: 6 }], 0])
  })

  it('takes the record of a modification although its addition is lost', async (t) => {
    const folder = await folderWith(t, whole)
    await wipe(folder, 'journal', /[^\n]+"add":{"id":4[^\n]+/)
    const found = await salvage(folder)
    assert.ok(shown(found).includes('4 D 22'))
    assert.deepEqual([found.missing, found.misfits], [[{ first: 5, last: 5 }], 0])
  })

  it('gives a name to the later record when the removal of the earlier one is lost', async (t) => {
    const folder = await folderWith(t, whole)
    await wipe(folder, 'journal', /[^\n]+"remove":"b"[^\n]+/)
    const found = await salvage(folder)
    assert.ok(shown(found).includes('5 b 22'))
    assert.deepEqual(
      found.displaced.map(({ id }) => id),
      [2],
    )
  })

  it('counts a removal whose record is lost', async (t) => {
    const frames = [[add(1, 'a')], [add(2, 'b')], [remove('a')]]
    const folder = await folderWith(t, { journal: { after: 0, frames } })
    await wipe(folder, 'journal', /[^\n]+"add":{"id":1[^\n]+/)
    const found = await salvage(folder)
    assert.deepEqual([shown(found), found.misfits], [['2 b 22'], 1])
  })

  it('leaves out a frame whose checksum differs although its form is good', async (t) => {
    const folder = await folderWith(t, whole)
    await change(folder, 'journal', '"port":80', '"port":81')
    const found = await salvage(folder)
    assert.ok(shown(found).includes('1 a 22'))
    assert.deepEqual(found.missing, [{ first: 6, last: 6 }])
  })

  it('is not led astray by a frame whose revision is damaged', async (t) => {
    const folder = await folderWith(t, whole)
    await change(folder, 'journal', ' 6 [{"modify"', ' 9 [{"modify"')
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 22', '3 c 22', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual(found.missing, [{ first: 6, last: 6 }])
  })

  it('never takes a frame from within a text', async (t) => {
    const name = '00000000 14 6 [{"remove":"a"}]\n00000000 14 6 [{"remove":"a"}]'
    const folder = await folderWith(t, { journal: { after: 0, frames: [[add(1, 'a')], [add(2, name)]] } })
    await wipe(folder, 'journal', /"hostname":"host.example"(?=[^\n]+\n$)/)
    assert.deepEqual(shown(await salvage(folder)), ['1 a 22'])
  })

  it('reads each good line of a damaged snapshot, and says that no checksum covers them', async (t) => {
    const folder = await folderWith(t, whole)
    await wipe(folder, 'snapshot', /[^\n]+"name":"c"[^\n]+/)
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 80', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual([found.unreadable, found.isUnverified, found.missing], [1, true, []])
  })

  it('does without the header of a snapshot', async (t) => {
    const folder = await folderWith(t, whole)
    await wipe(folder, 'snapshot', /^[^\n]+/)
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 80', '3 c 22', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual([found.unreadable, found.store, found.lastId], [undefined, 's', 7])
  })

  it('leaves out a record of a damaged snapshot whose id does not rise', async (t) => {
    const folder = await folderWith(t, whole)
    await change(folder, 'snapshot', '"id":2', '"id":9')
    const found = await salvage(folder)
    assert.deepEqual([shown(found).includes('3 c 22'), found.unreadable], [true, 1])
    assert.ok(!found.records.some(({ id }) => id === 9))
  })

  it('does not rely on the revision of a damaged snapshot', async (t) => {
    const folder = await folderWith(t, whole)
    await change(folder, 'snapshot', '"revision":4', '"revision":9')
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 80', '3 c 22', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
  })

  it('brings a damaged snapshot up to date by a journal that begins before it', async (t) => {
    // While a snapshot is written, changes go on, and the snapshot may have some of them.
    const frames = [[modify(1, 'a', 'x')], [remove('b')], [add(3, 'a')], [add(4, 'b')]]
    const folder = await folderWith(t, {
      snapshot: { records: [record(1, 'x'), record(3, 'a')], revision: 5, lastId: 3 },
      old: { after: 0, frames: [[add(1, 'a')], [add(2, 'b')]] },
      journal: { after: 2, frames },
    })
    await wipe(folder, 'snapshot', '"checksum"')
    for (const isOldThere of [true, false]) {
      if (!isOldThere) await rm(folder.file(dataFiles.journalOld))
      const found = await salvage(folder)
      assert.deepEqual(shown(found), ['1 x 22', '3 a 22', '4 b 22'])
      assert.deepEqual([found.misfits, found.displaced], [0, []])
    }
  })

  it('keeps what the journal holds when the snapshot is missing, and the other way round', async (t) => {
    const withoutSnapshot = await folderWith(t, whole)
    await rm(withoutSnapshot.file(dataFiles.snapshot))
    const journal = await salvage(withoutSnapshot)
    assert.deepEqual(shown(journal), ['1 a 80', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.deepEqual([journal.missing, journal.unreadable], [[{ first: 1, last: 4 }], 0])

    const withoutJournal = await folderWith(t, whole)
    await rm(withoutJournal.file(dataFiles.journal))
    const snapshot = await salvage(withoutJournal)
    assert.deepEqual(shown(snapshot), ['1 a 22', '2 b 22', '3 c 22'])
    assert.deepEqual([snapshot.revision, snapshot.lastId, snapshot.missing], [4, 3, []])
  })

  it('says that everything before a lone journal is missing', async (t) => {
    const found = await salvage(await folderWith(t, { journal: { after: 4, frames: [] } }))
    assert.deepEqual([found.missing, found.revision, found.lastId], [[{ first: 1, last: 4 }], 4, 4])
  })

  it('counts each missing change as an addition that may have got an id', async (t) => {
    const frames = [[add(1, 'a')], [add(2, 'b')], [add(3, 'c')], [modify(1, 'a', 'x')]]
    const folder = await folderWith(t, { journal: { after: 0, frames } })
    await wipe(folder, 'journal', /[^\n]+"id":2[^\n]+\n[^\n]+"id":3[^\n]+/)
    const found = await salvage(folder)
    assert.deepEqual([shown(found), found.revision, found.lastId], [['1 x 22'], 4, 3])
  })

  it('knows the ids in lines that are damaged', async (t) => {
    const frames = [[add(1, 'a')], [add(50, 'b')]]
    const folder = await folderWith(t, { journal: { after: 0, frames } })
    await wipe(folder, 'journal', '"b"')
    assert.equal((await salvage(folder)).lastId, 50)
  })

  it('leaves out a journal of another store', async (t) => {
    const journal = { after: 4, store: 'another', frames: [[add(9, 'z')]] }
    const found = await salvage(await folderWith(t, { ...whole, journal }))
    assert.deepEqual(shown(found), ['1 a 22', '2 b 22', '3 c 22'])
    assert.deepEqual([found.foreign, found.lastId], [['journal.jsonl'], 9])
  })

  it('leaves out the refused changes at the end of an old journal', async (t) => {
    const old = { after: 0, frames: [[add(1, 'a')], [add(2, 'refused')]] }
    const found = await salvage(await folderWith(t, { old, journal: { after: 1, frames: [[add(2, 'b')]] } }))
    assert.deepEqual(shown(found), ['1 a 22', '2 b 22'])
  })

  it('trusts the old journal more than a new one that is not its sequel', async (t) => {
    const old = { after: 0, frames: [[add(1, 'a')], [add(2, 'b')], [add(3, 'c')]] }
    const found = await salvage(await folderWith(t, { old, journal: { after: 0, frames: [[add(1, 'z')]] } }))
    assert.deepEqual(shown(found), ['1 a 22', '2 b 22', '3 c 22'])
  })

  it('does not trust the revision of the last frame of an old journal, when that is damaged', async (t) => {
    const old = { after: 0, frames: [[add(1, 'a')], [add(2, 'b')], [remove('a')]] }
    const folder = await folderWith(t, { old, journal: { after: 3, frames: [[add(3, 'c')]] } })
    await change(folder, 'journalOld', ' 3 [{"remove"', ' 7 [{"remove"')
    const found = await salvage(folder)
    assert.deepEqual(shown(found), ['1 a 22', '2 b 22', '3 c 22'])
    assert.deepEqual([found.missing, found.revision], [[{ first: 3, last: 3 }], 4])
  })

  it('goes on without a file that the disk cannot read', async (t) => {
    const folder = await folderWith(t, whole)
    const files = createFailingFiles()
    failOn(files, 'read', dataFiles.snapshot, 'EIO', Number.POSITIVE_INFINITY)
    const found = await salvage({ ...folder, files })
    assert.deepEqual(shown(found), ['1 a 80', '4 D 22', '5 b 22', '6 f 22', '7 g 22'])
    assert.equal(found.unreadable, undefined)
  })

  it('refuses a change of a newer connbook behind the damage', async (t) => {
    const frames = [[add(1, 'a')], [add(2, 'b')], [{ ...remove('a'), because: 'newer' }]]
    const folder = await folderWith(t, { journal: { after: 0, frames: [...frames, [add(3, 'c')]] } })
    await wipe(folder, 'journal', '"id":1')
    await assert.rejects(salvage(folder), /journal\.jsonl.*written by a newer connbook.*"because"/)
  })
})
