import { removeIfPresent } from '../../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { Journal } from '../../journal/journal.ts'
import type { JournalPosition } from '../../journal/journal-file.ts'
import type { Log } from '../../log.ts'
import type { Scheduler } from '../../scheduler.ts'
import {
  type Change,
  changeVersionOf,
  encodeChanges,
  encodeChangesInSlices,
  stateVersionOf,
} from '../../store/change.ts'
import type { ChangeLog, ChangeLogOwner } from '../../store/change-log.ts'
import { CHANGES } from '../../store/long-works.ts'
import type { ChangeTrail } from '../change-trail.ts'
import { fileMetrics, type SnapshotActivity } from './file-metrics.ts'
import { writeSnapshot } from './snapshot.ts'
import type { StoredState } from './store-files.ts'

/** The state of a store, and the position of its next frame. */
export interface Recovered extends StoredState {
  readonly store: string
  readonly position: JournalPosition
}

/**
 * Keeps changes in a journal, and writes a snapshot when the journal has outgrown the last snapshot.
 *
 * @param recovered Its index is only read here; the owner applies durable changes to it.
 * @param beforeFrame As in `JournalOwner`.
 * @param trail Lists every change durably before a snapshot has it: the journal may go then.
 */
export function createFileChangeLog(
  { index, store, position, snapshot, oldJournal }: Recovered,
  folder: DataPaths,
  log: Log,
  snapshotBytesMin: number,
  trail: ChangeTrail | undefined,
  scheduler: Scheduler,
  owner: ChangeLogOwner,
  beforeFrame: () => Promise<void> | undefined,
): ChangeLog {
  const snapshots: SnapshotActivity = { written: 0, failed: 0, last: undefined }
  let hasOldJournal = oldJournal !== undefined
  // An old journal means that the last snapshot was not completed.
  let snapshotDueBytes = hasOldJournal ? 0 : Math.max(snapshotBytesMin, snapshot?.size ?? 0)
  let compaction: Promise<void> | undefined
  const journal = new Journal<Change>(
    folder.file(dataFiles.journal),
    store,
    position,
    {
      get version() {
        return stateVersionOf(index)
      },
      versionOf: changeVersionOf,
      beforeFrame,
      encode: encodeChanges,
      apply(change, revision) {
        owner.apply(change, revision)
        compactIfDue()
      },
      renew,
      refuse: () => owner.refuse(),
      recover,
    },
    log,
    folder.files,
  )
  compactIfDue()
  return {
    store,
    get isWritable() {
      return journal.isWritable
    },
    metrics: fileMetrics(journal, snapshots),
    append: (change, check) => journal.append(change, check),
    appendTogether: (changes, check) => journal.appendTogether(changes, check),
    async appendInSlices(changes, check) {
      const { pieces: json, version } = await scheduler.run(CHANGES, encodeChangesInSlices(changes))
      const apply = async (firstRevision: number) => {
        await owner.applyTogether(changes, firstRevision)
        compactIfDue()
      }
      return journal.appendLarge({ count: changes.length, version, json, apply }, check)
    },
    async close() {
      await journal.close()
      await compaction
    },
  }

  function compactIfDue() {
    if (compaction !== undefined || journal.size < snapshotDueBytes) return
    compaction = compact()
      .catch((error: unknown) => {
        snapshots.failed += 1
        log.error('snapshot_failed', { reason: String(error) })
        snapshotDueBytes = journal.size + snapshotBytesMin
      })
      .finally(() => {
        compaction = undefined
      })
  }

  /** Starts a new journal, writes a snapshot, and only then removes the old journal. */
  async function compact() {
    if (!hasOldJournal) {
      await journal.restart(() => [], folder.file(dataFiles.journalOld))
      hasOldJournal = true
    }
    await writeRecords()
    await dropOldJournal()
  }

  /** The journal has an older form. It is kept until a snapshot has its changes, as in a compaction. */
  async function renew(begin: (keepAs: string) => Promise<void>) {
    await compaction
    if (hasOldJournal) await compact()
    await begin(folder.file(dataFiles.journalOld))
    hasOldJournal = true
    snapshotDueBytes = 0
  }

  /** After the disk failed, the journal cannot be trusted, so the snapshot comes before the new journal. */
  async function recover() {
    await compaction
    await writeRecords().catch((error: unknown) => {
      snapshots.failed += 1
      throw error
    })
    await journal.restart(() => [])
    await dropOldJournal()
  }

  async function writeRecords() {
    const beganMs = performance.now()
    const { revision, lastId, count, hasLabels } = index
    const path = folder.file(dataFiles.snapshot)
    const header = { store, revision, lastId, count, hasLabels }
    const bytes = await writeSnapshot(path, header, index.freeze(), folder.files, () => trail?.sync())
    snapshotDueBytes = Math.max(snapshotBytesMin, bytes)
    snapshots.written += 1
    snapshots.last = { atMs: Date.now(), seconds: (performance.now() - beganMs) / 1000 }
    log.info('snapshot_written', { records: count, revision, bytes })
  }

  async function dropOldJournal() {
    await removeIfPresent(folder.file(dataFiles.journalOld), folder.files)
    hasOldJournal = false
  }
}
