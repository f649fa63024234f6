import { ConnbookError, DamagedFileError, ifPresent, RESTORE_ADVICE } from '../../errors.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import type { OpenFile } from '../../files/file-system.ts'
import { checkStore, type JournalFile, openJournalFile } from '../../journal/journal-file.ts'
import type { JournalEnd } from '../../journal/journal-reader.ts'
import { CHANGE_VERSION, type Change, ChangeReader } from '../../store/change.ts'
import type { Configuration } from '../../store/configuration.ts'
import { ConfigurationIndex } from '../../store/configuration-index.ts'
import type { Listed, ListedChanges } from '../change-trail.ts'
import type { DocumentStart } from '../record-document.ts'
import { openSnapshot, type SnapshotFile } from './snapshot.ts'

/** The open files. Compaction starts a new journal and keeps the old one until the snapshot is complete. */
export interface StoreFiles {
  readonly snapshot: SnapshotFile | undefined
  readonly oldJournal: JournalFile | undefined
  readonly journal: JournalFile | undefined
  close(): Promise<void>
}

/** The records of a store at one revision. */
export interface StoredRecords {
  /** Store id; undefined for a new folder. */
  readonly store: string | undefined
  readonly index: ConfigurationIndex
}

export interface StoredState extends StoredRecords {
  /** The changes that the trail does not list, in the order of revisions; none without a trail. */
  readonly unlisted: readonly DurableChange[]
  readonly snapshot: DocumentStart | undefined
  readonly oldJournal: ReadJournal | undefined
  readonly journal: ReadJournal | undefined
}

/** A change that the journals hold. */
export interface DurableChange {
  readonly change: Change
  readonly revision: number
  /** The record as it was; undefined for one that is added. */
  readonly before: Configuration | undefined
}

/** A journal and the end of its valid part. */
export interface ReadJournal {
  readonly file: JournalFile
  readonly end: JournalEnd
}

/** Opening is cheap, and on a busy machine many attempts in a row can meet a compaction. */
const OPENINGS_MAX = 1000
/** Reading is repeated only if a frame was cut back meanwhile, which is rare. */
const READINGS_MAX = 10

/** The files were replaced during every attempt to read them. */
export class StoreChangingError extends ConnbookError {
  readonly code = 'store_changing'
}

/** @param flags For the journals: `r` when another process may be writing. */
export async function openStoreFiles(folder: DataPaths, flags: 'r' | 'r+'): Promise<StoreFiles> {
  await using opened = new AsyncDisposableStack()
  const closing = <File extends SnapshotFile | JournalFile>(file: File | undefined) =>
    opened.adopt(file, (file) => file?.close())
  const snapshot = closing(await openSnapshot(folder.file(dataFiles.snapshot), folder.files))
  const oldJournal = closing(await openJournal(dataFiles.journalOld))
  const journal = closing(await openJournal(dataFiles.journal))
  const kept = opened.move()
  return { snapshot, oldJournal, journal, close: () => kept.disposeAsync() }

  function openJournal(name: typeof dataFiles.journal | typeof dataFiles.journalOld) {
    return openJournalFile(folder.file(name), folder.files, CHANGE_VERSION, flags)
  }
}

/**
 * Reads the files of a store into an index. Changes nothing.
 *
 * @param mustExist Whether missing files are damage, because the folder has been in use.
 * @param listed What the audit trail lists, read before the files.
 * @param visit Gets the changes since the snapshot.
 * @throws {DamagedFileError} for anything but a torn tail. Also if the trail lists a change that they lack.
 */
export async function readStoreFiles(
  { snapshot, oldJournal, journal }: StoreFiles,
  folder: DataPaths,
  mustExist: boolean,
  listed?: Listed,
  visit: (durable: DurableChange) => void = () => {},
): Promise<StoredState> {
  const path = folder.file(dataFiles.journal)
  const damage = (reason: string, file = path, offset = 0) =>
    new DamagedFileError(file, offset, reason, RESTORE_ADVICE)
  const index = new ConfigurationIndex()
  const loaded = await snapshot?.load(index)
  if (oldJournal === undefined && journal === undefined && (mustExist || loaded !== undefined))
    throw damage('the journal is missing')
  const store = loaded?.store ?? oldJournal?.header.store ?? journal?.header.store
  for (const file of [oldJournal, journal]) {
    if (file !== undefined && store !== undefined) checkStore(file.path, file.header, store)
  }
  const known = store === undefined ? undefined : listed?.(store)
  const unlisted: DurableChange[] = []
  // The old journal may end with changes that were refused: those after the start of the new one.
  const oldRead = oldJournal && (await replay(oldJournal, journal?.header.after ?? Number.POSITIVE_INFINITY))
  // They are one frame at most; if there are more, the new journal is not the next one.
  if (oldRead !== undefined && journal !== undefined && journal.header.after < oldRead.end.beforeLast) {
    const { revision } = oldRead.end
    throw damage(
      `it begins after revision ${journal.header.after}, but the one before goes on to ${revision},`,
    )
  }
  if (oldRead !== undefined && journal === undefined && oldRead.end.revision < index.revision)
    throw damage(`the journal with the changes after revision ${oldRead.end.revision} is missing`)
  const read = journal && (await replay(journal, Number.POSITIVE_INFINITY))
  if (read !== undefined && read.end.revision < index.revision) {
    const reason = `it ends at revision ${read.end.revision}, before the snapshot's ${index.revision},`
    throw damage(reason, path, read.end.size)
  }
  if (known !== undefined && known.highest > index.revision) {
    throw damage(
      `it ends at revision ${index.revision}, but the audit trail lists acknowledged changes up to revision ${known.highest}${namesAfter(known, index.revision)},`,
      path,
      read?.end.size,
    )
  }
  return { store, index, unlisted, snapshot: loaded, oldJournal: oldRead, journal: read }

  async function replay(file: JournalFile, lastRevision: number): Promise<ReadJournal> {
    const { header } = file
    if (header.after > index.revision) {
      const reason = `it begins after revision ${header.after}, but what is before ends at ${index.revision},`
      throw damage(reason, file.path)
    }
    const reader = new ChangeReader()
    const end = await file.read((input, revision) => {
      const change = reader.read(input)
      if (revision <= index.revision || revision > lastRevision) return
      const before = index.apply(change, revision)
      const durable = { change, revision, before }
      visit(durable)
      if (known?.has(revision) === false) unlisted.push(durable)
    })
    return { file, end }
  }
}

/** Begins with a colon; empty if the trail names none, as for a large import. */
function namesAfter(known: ListedChanges, revision: number): string {
  const { count, names } = known.after(revision)
  if (names.length === 0) return ''
  return `: ${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}`
}

/**
 * Reads all records. Changes nothing. If a server is writing, these are the records of one moment since the call, and may
 * include a change that is not yet durable.
 *
 * @param mustExist Whether an absent store is damage.
 * @param listed What the audit trail lists, read before; a change that is missing is damage.
 * @throws {DamagedFileError} for anything but a torn tail.
 * @throws {StoreChangingError} if the files were replaced during every attempt.
 */
export async function readStore(
  folder: DataPaths,
  mustExist: boolean,
  listed?: Listed,
): Promise<StoredState> {
  let readings = 0
  for (let opening = 1; opening <= OPENINGS_MAX; opening++) {
    const opened = await openStoreFiles(folder, 'r')
    try {
      const before = await sizeAndTimeOf(opened.journal?.file)
      // All these files were in place at one moment, so together they are a state that a crash could leave.
      if (!(await areInPlace(opened, folder))) continue
      readings++
      try {
        return await readStoreFiles(opened, folder, mustExist, listed)
      } catch (error) {
        // A frame that is cut back and rewritten during the reading looks like damage.
        const mayBeMoving = (await sizeAndTimeOf(opened.journal?.file)) !== before
        if (readings === READINGS_MAX || !mayBeMoving) throw error
      }
    } finally {
      await opened.close()
    }
  }
  throw new StoreChangingError(
    `Cannot read the records in "${folder.path}": its files change too fast; try again`,
  )
}

/**
 * Whether the paths still name the opened files. Checks the snapshot last, although it was opened first: while it is
 * the same, no old journal can have come and gone.
 */
async function areInPlace(opened: StoreFiles, folder: DataPaths) {
  const places = [
    [folder.file(dataFiles.journalOld), opened.oldJournal?.file],
    [folder.file(dataFiles.journal), opened.journal?.file],
    [folder.file(dataFiles.snapshot), opened.snapshot?.file],
  ] as const
  for (const [path, file] of places) {
    const held = await file?.stat()
    const named = await ifPresent(folder.files.stat(path))
    if (held?.ino !== named?.ino || held?.dev !== named?.dev) return false
  }
  return true
}

async function sizeAndTimeOf(file: OpenFile | undefined): Promise<string | undefined> {
  const found = await file?.stat()
  return found && `${found.size} ${found.mtimeMs}`
}
