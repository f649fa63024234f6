import { readListedChanges } from '../../src/audit/listed-changes.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import type { DataPaths } from '../../src/files/data-folder.ts'
import type { Backup } from '../../src/state/backup-document.ts'
import { readKeptHistory } from '../../src/state/kept-history.ts'
import { noData } from '../../src/state/used-folder.ts'
import { readStore } from '../../src/storage/file/file-storage.ts'

/** What a backup of a folder must have, read from its files. @throws {DamagedFileError} {FolderRefusedError} */
export async function takeBackup(folder: DataPaths, withHistory = false): Promise<Backup> {
  const listed = await readListedChanges(folder)
  const { store, index } = await readStore(folder, true, listed)
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined || store === undefined) throw noData(folder.path)
  const history = withHistory
    ? { history: await readKeptHistory(folder, { store, revision: index.revision }) }
    : {}
  return {
    ...history,
    store,
    revision: index.revision,
    lastId: index.lastId,
    createdAt: new Date().toISOString(),
    accounts,
    count: index.count,
    records: index.freeze(),
  }
}
