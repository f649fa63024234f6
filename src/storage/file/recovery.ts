import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../../errors.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { createJournalFile, type JournalPosition, openJournalFile } from '../../journal/journal-file.ts'
import type { Log } from '../../log.ts'
import { openStoreFiles, readStoreFiles, type StoredState } from './store-files.ts'

/** The state of a store, and where its journal goes on. */
export interface Recovered extends StoredState {
  readonly store: string
  readonly position: JournalPosition
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
    const state = await readStoreFiles(opened, folder, mustExist)
    const { store = createStoreId(), index, oldJournal, journal } = state
    await oldJournal?.file.cut(oldJournal.end, log)
    const position = await (journal === undefined
      ? createJournal(folder, store, index.revision, files, log)
      : journal.file.cut(journal.end, log))
    await opened.snapshot?.close()
    await opened.oldJournal?.close()
    return { ...state, store, position }
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

/** Random, so that no two stores have the same. */
export function createStoreId(): string {
  return randomBytes(16).toString('hex')
}
