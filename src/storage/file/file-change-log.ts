import { isNoRoom, OvertakenError, StorageUnavailableError, systemCode } from '../../errors.ts'
import { removeIfPresent } from '../../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { full, Journal, unavailable } from '../../journal/journal.ts'
import type { JournalPosition } from '../../journal/journal-file.ts'
import { FRAME_CHANGES_MAX } from '../../limits.ts'
import type { Log } from '../../log.ts'
import { counter, type Family, gauge } from '../../metrics/family.ts'
import type { Scheduler } from '../../scheduler.ts'
import { CHANGE_VERSION, encodeChanges } from '../../store/change.ts'
import type { ChangeLog, Commit, Committed } from '../../store/change-log.ts'
import type { Records } from '../../store/records.ts'
import { CHANGES } from '../../store/slices.ts'
import type { ChangeTrail } from '../change-trail.ts'
import { writeSnapshot } from './snapshot.ts'
import type { StoredState } from './store-files.ts'

/** What was found in the files of a store, and the position of its next frame. */
export interface Recovered extends Pick<StoredState, 'snapshot' | 'oldJournal'> {
  readonly store: string
  readonly position: JournalPosition
}

export interface FileLogParts {
  readonly folder: DataPaths
  readonly log: Log
  readonly scheduler: Scheduler
  /** A smaller journal gets no snapshot. */
  readonly snapshotBytesMin: number
  /** Lists every change durably before a snapshot has it: the journal may go then. */
  readonly trail: ChangeTrail | undefined
}

/** Keeps changes in a journal, and writes a snapshot when the journal has outgrown the last snapshot. */
export class FileChangeLog implements ChangeLog {
  readonly #records: Records
  readonly #parts: FileLogParts
  readonly #journal: Journal
  readonly #snapshots: SnapshotActivity = { written: 0, failed: 0, last: undefined }
  #hasOldJournal: boolean
  #snapshotDueBytes: number
  #compaction: Promise<void> | undefined
  readonly store: string
  readonly metrics: readonly Family[]
  readonly namesMax = FRAME_CHANGES_MAX
  readonly allowsSequences = true

  /** @param records Those that were recovered; each change is applied to them once it is durable. */
  constructor(records: Records, recovered: Recovered, parts: FileLogParts) {
    const { store, position, snapshot, oldJournal } = recovered
    const { folder, log, snapshotBytesMin } = parts
    this.#records = records
    this.#parts = parts
    this.store = store
    this.#hasOldJournal = oldJournal !== undefined
    // An old journal means that the last snapshot was not completed.
    this.#snapshotDueBytes = this.#hasOldJournal ? 0 : Math.max(snapshotBytesMin, snapshot?.size ?? 0)
    const path = folder.file(dataFiles.journal)
    this.#journal = new Journal(path, store, position, () => this.#recover(), log, folder.files)
    this.metrics = fileMetrics(this.#journal, this.#snapshots)
    this.#compactIfDue()
  }

  get isWritable(): boolean {
    return this.#journal.isWritable
  }

  checkWritable(verb: string): void {
    if (this.isWritable) return
    throw new StorageUnavailableError(`Cannot ${verb}: the disk failed, and it is not yet sure again`)
  }

  prepare(): Promise<void> | undefined {
    return this.#journal.writing
  }

  async commit({ changes, isBulk, check }: Commit): Promise<Committed> {
    if (this.#journal.version !== CHANGE_VERSION) {
      await this.#renew()
      throw new OvertakenError()
    }
    const records = this.#records
    const json = await this.#parts.scheduler.runNow(CHANGES, encodeChanges(changes))
    const apply = async (revision: number) => {
      await (isBulk ? records.applyTogether(changes, revision) : records.apply(changes, revision))
      this.#compactIfDue()
    }
    await this.#journal.append({ json, count: changes.length, check, apply })
    return { changes, revision: records.index.revision }
  }

  catchUp(): undefined {}

  async close(): Promise<void> {
    await this.#journal.close()
    await this.#compaction
  }

  #compactIfDue() {
    if (this.#compaction !== undefined || this.#journal.size < this.#snapshotDueBytes) return
    this.#compaction = this.#compact()
      .catch((error: unknown) => {
        this.#snapshots.failed += 1
        this.#parts.log.error('snapshot_failed', { reason: String(error) })
        this.#snapshotDueBytes = this.#journal.size + this.#parts.snapshotBytesMin
      })
      .finally(() => {
        this.#compaction = undefined
      })
  }

  /** Starts a new journal, writes a snapshot, and only then removes the old journal. */
  async #compact() {
    if (!this.#hasOldJournal) {
      await this.#journal.restart(CHANGE_VERSION, undefined, this.#parts.folder.file(dataFiles.journalOld))
      this.#hasOldJournal = true
    }
    await this.#writeRecords()
    await this.#dropOldJournal()
  }

  /**
   * An older connbook made the journal. It is kept until a snapshot has its changes, as in a compaction.
   *
   * @throws {StorageFullError} {StorageUnavailableError}
   */
  async #renew() {
    await this.#compaction
    try {
      if (this.#hasOldJournal) await this.#compact()
      await this.#journal.restart(CHANGE_VERSION, undefined, this.#parts.folder.file(dataFiles.journalOld))
    } catch (error) {
      throw isNoRoom(systemCode(error)) ? full(error) : unavailable(error)
    }
    this.#hasOldJournal = true
    this.#snapshotDueBytes = 0
  }

  /** After the disk failed, the journal cannot be trusted, so the snapshot comes before the new journal. */
  async #recover() {
    await this.#compaction
    await this.#writeRecords().catch((error: unknown) => {
      this.#snapshots.failed += 1
      throw error
    })
    await this.#journal.restart(CHANGE_VERSION)
    await this.#dropOldJournal()
  }

  async #writeRecords() {
    const { folder, log, snapshotBytesMin, trail } = this.#parts
    const { store } = this
    const { index } = this.#records
    const beganMs = performance.now()
    const { revision, lastId, count } = index
    const path = folder.file(dataFiles.snapshot)
    const header = { store, revision, lastId, count }
    const bytes = await writeSnapshot(path, header, index.freeze(), folder.files, () => trail?.sync())
    this.#snapshotDueBytes = Math.max(snapshotBytesMin, bytes)
    this.#snapshots.written += 1
    this.#snapshots.last = { atMs: Date.now(), seconds: (performance.now() - beganMs) / 1000 }
    log.info('snapshot_written', { records: count, revision, bytes })
  }

  async #dropOldJournal() {
    const { folder } = this.#parts
    await removeIfPresent(folder.file(dataFiles.journalOld), folder.files)
    this.#hasOldJournal = false
  }
}

/** Counted since the start. */
export interface SnapshotActivity {
  written: number
  failed: number
  /** The last snapshot that was written; `atMs` is its end, since 1970. */
  last: { readonly atMs: number; readonly seconds: number } | undefined
}

export function fileMetrics(journal: Journal, snapshots: Readonly<SnapshotActivity>): Family[] {
  const { activity } = journal
  return [
    gauge(
      'connbook_journal_bytes',
      'Size of the journal of changes; each snapshot starts a new one.',
      () => journal.size,
    ),
    counter(
      'connbook_journal_changes_total',
      'Changes of records that were written to the journal and synced.',
      () => activity.changes.value,
    ),
    counter(
      'connbook_journal_frames_total',
      'Groups of changes that went to disk together.',
      () => activity.frames.value,
    ),
    {
      name: 'connbook_journal_fsync_duration_seconds',
      help: 'How long the disk took to sync a group of changes.',
      type: 'histogram',
      samples: () => [{ value: activity.syncSeconds }],
    },
    {
      name: 'connbook_snapshots_total',
      help: 'Snapshots by outcome: written or failed.',
      type: 'counter',
      labels: ['outcome'],
      samples: () => [
        { labels: { outcome: 'written' }, value: snapshots.written },
        { labels: { outcome: 'failed' }, value: snapshots.failed },
      ],
    },
    gauge(
      'connbook_snapshot_last_timestamp_seconds',
      'When the last snapshot of this process was complete, in seconds since 1970.',
      () => snapshots.last && snapshots.last.atMs / 1000,
    ),
    gauge(
      'connbook_snapshot_last_duration_seconds',
      'How long the last snapshot of this process took.',
      () => snapshots.last?.seconds,
    ),
  ]
}
