import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../../errors.ts'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { createJournalFile, openJournalFile } from '../../journal/journal-file.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../limits.ts'
import type { Log } from '../../log.ts'
import { ConfigurationStore } from '../../store/configuration-store.ts'
import type { RecordStorage } from '../record-storage.ts'
import { createFileChangeLog } from './file-change-log.ts'
import { examineStoreFiles } from './file-examination.ts'
import { salvageStoreFiles } from './salvage.ts'
import { writeSnapshot } from './snapshot.ts'
import { openStoreFiles, readStoreBeside, readStoreFiles } from './store-files.ts'

export function fileStorage(folder: DataPaths): RecordStorage {
  return {
    read: (mustExist) => readStoreBeside(folder, mustExist),
    examine: (mustExist) => examineStoreFiles(folder, mustExist),
    salvage: () => salvageStoreFiles(folder),
    async create({ records, revision, lastId, count }) {
      const store = createStoreId()
      const header = { store, revision, lastId, count }
      await writeSnapshot(folder.file(dataFiles.snapshot), header, records, folder.files)
      await createJournalFile(folder.file(dataFiles.journal), { store, after: revision }, folder.files)
    },
  }
}

/**
 * Loads the records of a folder for reading and writing. A new folder gets an empty journal; a torn tail is set aside.
 * Changes no file before all have been read.
 *
 * @param folder Owned by this process.
 * @param mustExist Whether missing files are damage, because the folder has been in use.
 * @param snapshotBytesMin A smaller journal gets no snapshot.
 * @throws {DamagedFileError} for anything but a torn tail.
 */
export async function openConfigurationStore(
  folder: DataPaths,
  {
    mustExist,
    log,
    snapshotBytesMin = SNAPSHOT_JOURNAL_BYTES_MIN,
  }: { mustExist: boolean; log: Log; snapshotBytesMin?: number },
): Promise<ConfigurationStore> {
  const opened = await openStoreFiles(folder, 'r+')
  try {
    const state = await readStoreFiles(opened, folder, mustExist)
    const { store = createStoreId(), index, oldJournal } = state
    await oldJournal?.file.cut(oldJournal.end, log)
    const journal = state.journal ?? (await createJournal(folder, store, index.revision))
    const position = await journal.file.cut(journal.end, log)
    await opened.snapshot?.close()
    await opened.oldJournal?.close()
    const recovered = { ...state, store, position }
    return new ConfigurationStore(index, (owner) =>
      createFileChangeLog(recovered, folder, log, snapshotBytesMin, owner),
    )
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function createJournal(folder: DataPaths, store: string, after: number) {
  const path = folder.file(dataFiles.journal)
  await createJournalFile(path, { store, after }, folder.files)
  const file = await openJournalFile(path, folder.files)
  if (file === undefined) throw new DamagedFileError(path, 0, 'the file vanished', 'start again')
  return { file, end: await file.read(() => {}) }
}

function createStoreId(): string {
  return randomBytes(16).toString('hex')
}
