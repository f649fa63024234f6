import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../../files/file-system.ts'
import { createJournalFile } from '../../journal/journal-file.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../limits.ts'
import type { Log } from '../../log.ts'
import { ConfigurationStore } from '../../store/configuration-store.ts'
import type { RecordStorage } from '../record-storage.ts'
import { createFileChangeLog } from './file-change-log.ts'
import { examineStoreFiles } from './file-examination.ts'
import { createStoreId, recoverStore } from './recovery.ts'
import { writeSnapshot } from './snapshot.ts'
import { readStoreBeside } from './store-files.ts'

/** The records in the files of a folder. */
export function fileStorage(folder: DataPaths, files: FileSystem = realFileSystem): RecordStorage {
  return {
    read: (mustExist) => readStoreBeside(folder, mustExist, files),
    examine: (mustExist) => examineStoreFiles(folder, mustExist, files),
    async create({ records, revision, lastId, count }) {
      const store = createStoreId()
      const header = { store, revision, lastId, count }
      await writeSnapshot(folder.file(dataFiles.snapshot), header, records, files)
      await createJournalFile(folder.file(dataFiles.journal), { store, after: revision }, files)
    },
  }
}

/**
 * Reads the records of a folder into memory, to serve and to change them.
 *
 * @param folder Owned by this process.
 * @param mustExist Whether it is damage, not a new store, when nothing is there.
 * @param snapshotBytesMin A journal smaller than this is not worth a snapshot.
 * @throws {DamagedFileError} if what is on disk is not what was written, a torn tail excepted.
 */
export async function openConfigurationStore(
  folder: DataPaths,
  {
    mustExist,
    log,
    files = realFileSystem,
    snapshotBytesMin = SNAPSHOT_JOURNAL_BYTES_MIN,
  }: { mustExist: boolean; log: Log; files?: FileSystem; snapshotBytesMin?: number },
): Promise<ConfigurationStore> {
  const recovered = await recoverStore(folder, mustExist, files, log)
  return new ConfigurationStore(recovered.index, (owner) =>
    createFileChangeLog(recovered, folder, log, files, snapshotBytesMin, owner),
  )
}
