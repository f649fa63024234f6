import { randomBytes } from 'node:crypto'
import { recordMemoryMax } from '../../budget.ts'
import { DamagedFileError } from '../../errors.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { createJournalFile, openJournalFile } from '../../journal/journal-file.ts'
import { UNLISTED_AT_ONCE_MAX } from '../../limits.ts'
import type { Log } from '../../log.ts'
import { Scheduler } from '../../scheduler.ts'
import { CHANGE_VERSION } from '../../store/change.ts'
import type { Configuration } from '../../store/configuration.ts'
import type { ConfigurationIndex } from '../../store/configuration-index.ts'
import { ConfigurationStore } from '../../store/configuration-store.ts'
import { RecentChanges } from '../../store/recent-changes.ts'
import { Records } from '../../store/records.ts'
import { Writer } from '../../store/writer.ts'
import type { ChangeTrail } from '../change-trail.ts'
import type { StateHeader } from '../record-document.ts'
import { FileChangeLog } from './file-change-log.ts'
import { writeSnapshot } from './snapshot.ts'
import { type DurableChange, openStoreFiles, readStoreFiles } from './store-files.ts'

/** A smaller journal is not worth a snapshot. */
export const SNAPSHOT_JOURNAL_BYTES_MIN = 4 * 1024 * 1024

// Others import this file alone of the folder.
export { examineStore, type RecordsExamination } from './file-examination.ts'
export { type RevisionRange, type SalvagedRecords, salvageStore } from './salvage.ts'
export { readStore, type StoredRecords } from './store-files.ts'

/** The content of a new store; records by rising id. */
export interface FirstRecords extends Omit<StateHeader, 'store'> {
  readonly records: Iterable<Configuration>
}

/**
 * Makes a store where none is, with a new id: its next revisions may have been used before, and id and revision together
 * make the entity tags of lists.
 *
 * @returns The id.
 */
export async function createStore(folder: DataPaths, first: FirstRecords): Promise<string> {
  const { records, revision, lastId, count } = first
  const store = createStoreId()
  const header = { store, revision, lastId, count }
  await writeSnapshot(folder.file(dataFiles.snapshot), header, records, folder.files)
  const start = { store, after: revision, version: CHANGE_VERSION }
  await createJournalFile(folder.file(dataFiles.journal), start, folder.files)
  return store
}

/**
 * Loads the records of a folder for reading and writing. A new folder gets an empty journal; a torn tail is set aside.
 * Changes no file before all have been read.
 *
 * @param folder Owned by this process.
 * @param mustExist Whether missing files are damage, because the folder has been in use.
 * @param trail Gets the changes that it does not list yet, and those to come; none are listed if absent.
 * @param snapshotBytesMin A smaller journal gets no snapshot.
 * @param scheduler Shares the event loop between this store and other long work.
 * @param recordBytesMax Memory for records.
 * @param isReadOnly Whether nothing can be written: then a torn tail stays, and no change may be made.
 * @throws {DamagedFileError} for anything but a torn tail. Also if the trail lists a change that is missing.
 */
export async function openConfigurationStore(
  folder: DataPaths,
  {
    mustExist,
    log,
    trail,
    snapshotBytesMin = SNAPSHOT_JOURNAL_BYTES_MIN,
    scheduler = new Scheduler(),
    recordBytesMax = recordMemoryMax(),
    isReadOnly = false,
  }: {
    mustExist: boolean
    log: Log
    trail?: ChangeTrail | undefined
    snapshotBytesMin?: number
    scheduler?: Scheduler
    recordBytesMax?: number
    isReadOnly?: boolean
  },
): Promise<ConfigurationStore> {
  const listed = await trail?.listed()
  const opened = await openStoreFiles(folder, isReadOnly ? 'r' : 'r+')
  try {
    let recent: RecentChanges | undefined
    const state = await readStoreFiles(opened, folder, mustExist, listed, (durable) => {
      const { change, revision, before } = durable
      recent ??= new RecentChanges(revision - 1)
      recent.add(change, revision, before)
    })
    const { store = createStoreId(), index, oldJournal, unlisted } = state
    if (!isReadOnly) await oldJournal?.file.cut(oldJournal.end, log)
    const journal = state.journal ?? (await createJournal(folder, store, index))
    const position = isReadOnly
      ? journal.file.positionAt(journal.end)
      : await journal.file.cut(journal.end, log)
    await opened.snapshot?.close()
    await opened.oldJournal?.close()
    if (trail !== undefined && !isReadOnly) await listAll(trail, store, unlisted)
    const records = new Records(index, scheduler, recent)
    const changeLog = new FileChangeLog(
      records,
      { ...state, store, position },
      { folder, log, scheduler, snapshotBytesMin, trail },
    )
    records.onDurable((change, revision, before) => trail?.list(store, change, revision, before))
    return new ConfigurationStore(
      records,
      changeLog,
      new Writer(records, changeLog, scheduler, recordBytesMax),
    )
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** Lists changes in portions that the trail can hold. If they cannot be written, it says so; the journal has them. */
async function listAll(trail: ChangeTrail, store: string, changes: readonly DurableChange[]) {
  for (const [i, { change, revision, before }] of changes.entries()) {
    trail.list(store, change, revision, before)
    if ((i + 1) % UNLISTED_AT_ONCE_MAX === 0) await trail.sync().catch(() => {})
  }
}

async function createJournal(folder: DataPaths, store: string, index: ConfigurationIndex) {
  const path = folder.file(dataFiles.journal)
  const start = { store, after: index.revision, version: CHANGE_VERSION }
  await createJournalFile(path, start, folder.files)
  const file = await openJournalFile(path, folder.files, CHANGE_VERSION)
  if (file === undefined) throw new DamagedFileError(path, 0, 'the file vanished', 'start again')
  return { file, end: await file.read(() => {}) }
}

function createStoreId(): string {
  return randomBytes(16).toString('hex')
}
