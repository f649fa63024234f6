import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { createJournalFile, type JournalPosition, openJournalFile } from '../journal/journal-file.ts'
import type { Log } from '../log.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import { openStoreFiles, readStoreFiles } from './store-files.ts'

/** What was found in a data folder. */
export interface Recovered {
  readonly index: ConfigurationIndex
  readonly store: string
  readonly position: JournalPosition
  readonly snapshotBytes: number
  /** Whether a journal is left that the snapshot does not cover. */
  readonly hasOldJournal: boolean
}

/**
 * Reads the store of a folder and makes its journal fit to be written; a folder without a store gets an empty journal.
 *
 * Nothing is changed before everything has been read.
 *
 * @param mustExist Whether missing files are damage: the folder has been in use.
 * @throws {DamagedFileError} for anything but a torn tail.
 */
export async function recoverStore(
  folder: DataPaths,
  mustExist: boolean,
  files: FileSystem,
  log: Log,
): Promise<Recovered> {
  const opened = await openStoreFiles(folder, files, 'r+')
  try {
    const { index, snapshot, oldJournal, journal, ...found } = await readStoreFiles(opened, folder, mustExist)
    const store = found.store ?? randomBytes(16).toString('hex')
    await oldJournal?.file.cut(oldJournal.end, log)
    const position =
      journal === undefined
        ? await createJournal(folder, store, index.revision, files, log)
        : await journal.file.cut(journal.end, log)
    await opened.snapshot?.close()
    await opened.oldJournal?.close()
    return {
      index,
      store,
      position,
      snapshotBytes: snapshot?.size ?? 0,
      hasOldJournal: oldJournal !== undefined,
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function createJournal(
  folder: DataPaths,
  store: string,
  after: number,
  files: FileSystem,
  log: Log,
): Promise<JournalPosition> {
  const path = folder.file(dataFiles.journal)
  await createJournalFile(path, { store, after }, files)
  const journal = await openJournalFile(path, files)
  if (journal === undefined) throw new DamagedFileError(path, 0, 'the file vanished', 'start again')
  return journal.cut(await journal.read(() => {}), log)
}
