import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../errors.ts'
import { type DataFolder, dataFiles } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import { parseChange } from './change.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import {
  checkStore,
  createJournalFile,
  type JournalFile,
  type JournalPosition,
  openJournalFile,
} from './journal-file.ts'
import { readSnapshot } from './snapshot.ts'

/** What was found in a data folder, besides the records. */
export interface Recovered {
  readonly store: string
  readonly position: JournalPosition
  readonly snapshotBytes: number
  /** Whether a journal is left that the snapshot does not cover. */
  readonly hasOldJournal: boolean
}

const ADVICE = 'restore the data folder from a backup'

/**
 * Fills an index from the snapshot and the journals of a folder; a folder without either gets an empty journal.
 *
 * There are up to two journals: a snapshot begins with a new one and keeps the one before until it is written.
 *
 * @param mustExist Whether missing files are damage: the folder has been in use.
 * @throws {DamagedFileError} for anything but a torn tail.
 */
export async function recoverIndex(
  index: ConfigurationIndex,
  folder: DataFolder,
  mustExist: boolean,
  files: FileSystem,
  log: Log,
): Promise<Recovered> {
  const snapshotPath = folder.file(dataFiles.snapshot)
  const path = folder.file(dataFiles.journal)
  const oldPath = folder.file(dataFiles.journalOld)

  const records: Configuration[] = []
  let jsonBytes = 0
  const visitRecord = (record: Configuration, bytes: number) => {
    records.push(record)
    jsonBytes += bytes
  }
  const snapshot = await readSnapshot(snapshotPath, visitRecord, files)
  if (snapshot !== undefined) index.load(records, jsonBytes, snapshot.revision, snapshot.lastId)

  const opened: JournalFile[] = []
  try {
    return await replayJournals()
  } catch (error) {
    for (const journal of opened) await journal.close()
    throw error
  }

  async function replayJournals(): Promise<Recovered> {
    const old = await open(oldPath)
    let current = await open(path)
    if (old === undefined && current === undefined && (mustExist || snapshot !== undefined)) {
      throw new DamagedFileError(path, 0, 'the journal is missing', ADVICE)
    }
    const store =
      snapshot?.store ?? old?.header.store ?? current?.header.store ?? randomBytes(16).toString('hex')

    if (old !== undefined) {
      const { revision } = await replay(
        oldPath,
        old,
        store,
        current?.header.after ?? Number.POSITIVE_INFINITY,
      )
      await old.close()
      if (current === undefined && revision < index.revision) {
        const reason = `the journal with the changes after revision ${revision} is missing`
        throw new DamagedFileError(path, 0, reason, ADVICE)
      }
    }
    if (current === undefined) {
      await createJournalFile(path, { store, after: index.revision }, files)
      current = await open(path)
      if (current === undefined) throw new DamagedFileError(path, 0, 'the journal vanished', ADVICE)
    }
    const position = await replay(path, current, store, Number.POSITIVE_INFINITY)
    if (position.revision < index.revision) {
      const reason = `it ends at revision ${position.revision}, before the snapshot's ${index.revision},`
      throw new DamagedFileError(path, position.size, reason, ADVICE)
    }
    return { store, position, snapshotBytes: snapshot?.size ?? 0, hasOldJournal: old !== undefined }
  }

  async function open(journalPath: string): Promise<JournalFile | undefined> {
    const journal = await openJournalFile(journalPath, files)
    if (journal !== undefined) opened.push(journal)
    return journal
  }

  /** @param through The journal's changes after this revision were refused when they were made. */
  async function replay(
    journalPath: string,
    journal: JournalFile,
    store: string,
    through: number,
  ): Promise<JournalPosition> {
    checkStore(journalPath, journal.header, store)
    if (journal.header.after > index.revision) {
      const reason = `it begins after revision ${journal.header.after}, but what is before ends at ${index.revision},`
      throw new DamagedFileError(journalPath, 0, reason, ADVICE)
    }
    return journal.replay((input, revision) => {
      const change = parseChange(input)
      if (revision > index.revision && revision <= through) index.apply(change, revision)
    }, log)
  }
}
