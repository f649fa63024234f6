import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { Journal } from '../../../src/journal/journal.ts'
import { createJournalFile, openJournalFile } from '../../../src/journal/journal-file.ts'
import { fileMetrics, type SnapshotActivity } from '../../../src/storage/file/file-metrics.ts'
import { type Change, encodeChanges } from '../../../src/store/change.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function openJournal(t: TestContext): Promise<Journal<Change>> {
  const path = join(await temporaryFolder(t), 'journal.jsonl')
  await createJournalFile(path, { store: 's', after: 0 }, realFileSystem)
  const file = (await openJournalFile(path, realFileSystem)) ?? assert.fail('it is missing')
  const log = createMemoryLog()
  const position = await file.cut(await file.read(() => {}), log)
  const owner = {
    version: position.version,
    encode: encodeChanges,
    apply: () => {},
    renew: (begin: () => Promise<void>) => begin(),
    refuse: () => {},
    recover: async () => {},
  }
  const journal = new Journal<Change>(path, 's', position, owner, log, realFileSystem)
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
    await journal.append({ remove: 'a' })
    await Promise.all(['b', 'c'].map((remove) => journal.append({ remove })))
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
