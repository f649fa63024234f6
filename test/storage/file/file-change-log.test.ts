import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { access, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { Journal } from '../../../src/journal/journal.ts'
import { createJournalFile, encodeJournalStart, openJournalFile } from '../../../src/journal/journal-file.ts'
import { fileMetrics, type SnapshotActivity } from '../../../src/storage/file/file-change-log.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../../src/storage/file/file-storage.ts'
import { SNAPSHOT_SLICE_RECORDS } from '../../../src/storage/record-document.ts'
import type { ImportPlan } from '../../../src/store/bulk-change.ts'
import { CHANGE_VERSION, type Change } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { bulkImport } from '../../../src/store/import-plan.ts'
import { until } from '../../support/eventually.ts'
import {
  createFailingFiles,
  type FailingFiles,
  failOn,
  holdUp,
  systemError,
} from '../../support/failing-files.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { draft, encoded, names, openStore, someone, storedNames } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** So many that a snapshot is written in two slices. */
const RECORDS = SNAPSHOT_SLICE_RECORDS + 100
/** Their journal outgrows this. */
const SHORT_JOURNAL_BYTES = 16 * 1024
/** With long names and usernames, their journal outgrows the size of a real server. */
const LONG_RECORDS = 2200

const filled = recordsWith(RECORDS, '')
const filledNames = filled.map((record) => record.name)
const journal = journalOf(filled)

/** Records whose names and user names have the same ending. */
function recordsWith(count: number, ending: string): Configuration[] {
  return Array.from(
    { length: count },
    (_, i) => new Configuration(i + 1, draft(`${i} ${ending}`, { username: `ops ${ending}` })),
  )
}

function journalOf(records: readonly Configuration[]): Buffer {
  return encodeJournalStart(
    { store: 's', after: 0, version: CHANGE_VERSION },
    records.map((add) => ({ add })),
  ).bytes
}

/** Opens a journal that has outgrown its snapshot, so a compaction begins; by default, a short one. */
async function openGrown(
  t: TestContext,
  files: FailingFiles,
  { bytes, snapshotBytesMin }: { bytes: Uint8Array; snapshotBytesMin?: number } = {
    bytes: journal,
    snapshotBytesMin: SHORT_JOURNAL_BYTES,
  },
) {
  assert.ok(bytes.length > (snapshotBytesMin ?? SNAPSHOT_JOURNAL_BYTES_MIN))
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'journal.jsonl'), bytes)
  const opened = await openStore(t, folder, { files, snapshotBytesMin })
  const isOver = () => opened.log.events.some((event) => event.startsWith('snapshot_'))
  return { ...opened, folder, compacted: () => until(isOver) }
}

describe('compaction', () => {
  it('begins when the journal has grown, and leaves a snapshot and a short journal', async (t) => {
    const long = recordsWith(LONG_RECORDS, '\u{1f5c4}'.repeat(245))
    const longNames = long.map((record) => record.name)
    const { store, folder, compacted, close } = await openGrown(t, createFailingFiles(), {
      bytes: journalOf(long),
    })
    await compacted()
    const { records, revision } = JSON.parse(await readFile(join(folder, 'snapshot.json'), 'utf8'))
    assert.deepEqual([records.length, revision], [LONG_RECORDS, LONG_RECORDS])
    assert.ok((await stat(join(folder, 'journal.jsonl'))).size < 200)
    await assert.rejects(access(join(folder, 'journal.old.jsonl')))
    assert.deepEqual(names(store), longNames)
    await close()
    assert.deepEqual(await storedNames(t, folder), longNames)
  })

  it('keeps changes written meanwhile', async (t) => {
    const files = createFailingFiles()
    const snapshot = holdUp(files, 'write', 'snapshot.json')
    const { store, folder, compacted, close } = await openGrown(t, files)
    await snapshot.begun
    await store.add(someone, draft('added'))
    await store.modify(someone, filledNames[0] ?? '', { name: 'renamed' })
    await store.remove(someone, filledNames[1] ?? '')
    snapshot.release()
    await compacted()
    await store.add(someone, draft('last'))
    await close()
    const expected = ['renamed', ...filledNames.slice(2), 'added', 'last']
    assert.deepEqual(await storedNames(t, folder), expected)
  })

  it('is finished before the store is closed', async (t) => {
    const { folder, close } = await openGrown(t, createFailingFiles())
    await close()
    await access(join(folder, 'snapshot.json'))
  })

  it('ends before the recovery from a disk failure begins, so its older snapshot cannot replace the newer one', async (t) => {
    const files = createFailingFiles()
    const snapshot = holdUp(files, 'rename', 'snapshot.json')
    const { store, folder, close } = await openGrown(t, files)
    await snapshot.begun
    await store.add(someone, draft('added'))
    failOn(files, 'datasync', 'journal.jsonl', 'EIO')
    await assert.rejects(store.add(someone, draft('refused')), { code: 'storage_unavailable' })
    // Enough time for a recovery that does not wait.
    for (let turn = 0; turn < 20_000 && !store.isWritable; turn++) await nextTurn()
    snapshot.release()
    await until(() => store.isWritable)
    await close()
    assert.deepEqual(await storedNames(t, folder), [...filledNames, 'added'])
  })

  it('loses nothing when the process ends at any of its system calls', async (t) => {
    const images: { at: string; image: string; acknowledged: number }[] = []
    const root = await temporaryFolder(t)
    const files = createFailingFiles()
    const { store, folder, compacted, close } = await openGrown(t, files)
    const more = ['more 0', 'more 1', 'more 2']
    let acknowledged = 0
    const isChange = new Set(['open', 'write', 'sync', 'rename', 'unlink'])
    files.before = async (operation, path) => {
      if (!isChange.has(operation)) return
      const image = join(root, String(images.length))
      images.push({ at: `${operation} ${basename(path)}`, image, acknowledged })
      cpSync(folder, image, { recursive: true, filter: (source) => !source.endsWith('.lock') })
      const next = path.includes('snapshot.json') && operation === 'write' ? more[acknowledged] : undefined
      if (next === undefined) return
      await store.add(someone, draft(next))
      acknowledged += 1
    }
    await compacted()
    files.before = () => {}
    await close()

    for (const { at, image, acknowledged } of images) {
      const found = await storedNames(t, image)
      const known = filled.length + acknowledged
      assert.deepEqual(found.slice(0, known), [...filledNames, ...more.slice(0, acknowledged)], at)
      assert.deepEqual(found.slice(known), more.slice(acknowledged, found.length - filled.length), at)
    }
    const calls = images.map(({ at }) => at)
    for (const name of ['journal.old.jsonl', 'journal.jsonl', 'snapshot.json'])
      assert.ok(calls.includes(`rename ${name}`))
    assert.ok(calls.includes('unlink journal.old.jsonl'))
  })

  it('loses nothing, and the store accepts changes again, whichever of its system calls fails', async (t) => {
    let hasFailed = true
    for (let failing = 0; hasFailed; failing++) {
      const files = createFailingFiles()
      const { store, folder, compacted, close } = await openGrown(t, files)
      let calls = 0
      let failed = ''
      files.before = (operation, path) => {
        if (calls++ !== failing) return
        failed = `${operation} ${basename(path)}`
        throw systemError('EIO')
      }
      await compacted()
      await until(() => store.isWritable)
      files.before = () => {}
      await store.add(someone, draft('later'))
      assert.deepEqual(names(store), [...filledNames, 'later'], failed)
      await close()
      assert.deepEqual(await storedNames(t, folder), [...filledNames, 'later'], failed)
      hasFailed = failed !== ''
    }
  })
})

async function openJournal(t: TestContext): Promise<Journal> {
  const path = join(await temporaryFolder(t), 'journal.jsonl')
  await createJournalFile(path, { store: 's', after: 0, version: CHANGE_VERSION }, realFileSystem)
  const file = (await openJournalFile(path, realFileSystem, CHANGE_VERSION)) ?? assert.fail('it is missing')
  const log = createMemoryLog()
  const position = await file.cut(await file.read(() => {}), log)
  const journal = new Journal(path, 's', position, async () => {}, log, realFileSystem)
  t.after(() => journal.close())
  return journal
}

describe('the figures of the files', () => {
  it('count the changes and frames of the journal', async (t) => {
    const journal = await openJournal(t)
    const families = fileMetrics(journal, { written: 0, failed: 0, last: undefined })
    const figure = (name: string) => {
      const family = families.find((each) => each.name === `connbook_journal_${name}`)
      const [sample] = family?.samples() ?? []
      return sample?.value
    }
    const emptyBytes = journal.size
    assert.deepEqual([figure('bytes'), figure('changes_total')], [emptyBytes, 0])
    const append = (...changes: Change[]) =>
      journal.append({ json: [Buffer.from(encoded(changes))], count: changes.length, apply: () => {} })
    await append({ remove: 'a' })
    await append({ remove: 'b' }, { remove: 'c' })
    assert.equal(figure('bytes'), journal.size)
    assert.ok(journal.size > emptyBytes)
    assert.deepEqual([figure('changes_total'), figure('frames_total')], [3, 2])
    assert.equal(figure('fsync_duration_seconds'), journal.activity.syncSeconds)
  })

  it('count the snapshots, also before the first one', async (t) => {
    const snapshots: SnapshotActivity = { written: 0, failed: 2, last: undefined }
    const families = fileMetrics(await openJournal(t), snapshots)
    const samples = () =>
      families
        .filter(({ name }) => name.startsWith('connbook_snapshot'))
        .map(({ samples }) => [...samples()].map(({ labels, value }) => [labels?.outcome, value]))
    assert.deepEqual(samples(), [
      [
        ['written', 0],
        ['failed', 2],
      ],
      [],
      [],
    ])
    snapshots.written += 1
    snapshots.last = { atMs: 1_500, seconds: 0.25 }
    assert.deepEqual(samples(), [
      [
        ['written', 1],
        ['failed', 2],
      ],
      [[undefined, 1.5]],
      [[undefined, 0.25]],
    ])
  })
})

describe('a right that is withdrawn', () => {
  for (const [what, bulk] of Object.entries({
    'one record': bulkImport([draft('a')], 'merge'),
    'many records': bulkImport(filled, 'merge'),
  }))
    it(`counts even after a change of ${what} was decided`, async (t) => {
      let isWithdrawn = false
      const { store } = await openStore(t, await temporaryFolder(t))
      const checkAgain = () => {
        if (isWithdrawn) throw new Error('withdrawn')
      }
      const notesOf = (plan: ImportPlan) => {
        isWithdrawn = true
        return bulk.notesOf(plan)
      }
      const asker = { signal: new AbortController().signal, checkAgain }
      const changing = store.changeTogether(someone, { ...bulk, notesOf }, undefined, asker)
      await assert.rejects(changing, { message: 'withdrawn' })
      assert.deepEqual(names(store), [])
    })
})
