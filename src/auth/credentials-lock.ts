import { sweepTemporaryFiles } from '../files/atomic-file.ts'
import { checkNotRestoring, type DataPaths, dataFiles, takeLock } from '../files/data-folder.ts'
import { type FileLock, waitForLock } from '../files/file-lock.ts'
import { describeLockHolder } from '../files/processes.ts'
import { DocumentBusyError } from '../files/shared-document.ts'

/** Written only under the accounts lock. */
const lockedFiles = [dataFiles.accounts, dataFiles.initialCredentials, dataFiles.keys]

/**
 * Runs an action while no other process changes accounts or keys; a running server can still read them.
 *
 * @throws {DocumentBusyError} if another process does not finish within LOCK_WAIT_MS.
 * @throws {FolderRefusedError} if the folder or its lock file cannot be used, or a restore is not complete.
 */
export async function withCredentialsLock<T>(folder: DataPaths, action: () => Promise<T>): Promise<T> {
  const lock = await getLock(folder)
  try {
    await checkNotRestoring(folder)
    await sweepTemporaryFiles(folder.path, lockedFiles, folder.files)
    return await action()
  } finally {
    lock.release()
  }
}

async function getLock(folder: DataPaths): Promise<FileLock> {
  const lock = await waitForLock(() => takeLock(folder, dataFiles.accountsLock))
  if (lock !== undefined) return lock
  const holder = describeLockHolder(folder.file(dataFiles.accountsLock))
  throw new DocumentBusyError(
    `Cannot change accounts or keys in "${folder.path}": another command is doing so${holder === undefined ? '' : ` (${holder})`}; try again when it has ended`,
  )
}
