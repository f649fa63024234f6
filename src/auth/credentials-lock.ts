import { FolderRefusedError, ifPresent } from '../errors.ts'
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
  const lock = await getLock(folder, 'change accounts or keys in')
  try {
    await checkNotRestoring(folder)
    await sweepTemporaryFiles(folder.path, lockedFiles, folder.files)
    return await action()
  } finally {
    lock.release()
  }
}

/**
 * Waits while a command has the folder to itself, as `restore`, `recover` and an `import` without a server have: they hold
 * the lock of the credentials, and a server takes it only for a moment. So no server that starts meanwhile is disturbed.
 *
 * @throws {DocumentBusyError} as `withCredentialsLock` does.
 */
export async function waitForCommands(folder: DataPaths): Promise<void> {
  if ((await ifPresent(folder.files.lstat(folder.file(dataFiles.accountsLock)))) === undefined) return
  try {
    ;(await getLock(folder, 'use')).release()
  } catch (error) {
    // Where nothing can be written, nothing changes either.
    if (!(error instanceof FolderRefusedError)) throw error
  }
}

/** @param what Completes "Cannot … FOLDER". */
async function getLock(folder: DataPaths, what: string): Promise<FileLock> {
  const lock = await waitForLock(() => takeLock(folder, dataFiles.accountsLock))
  if (lock !== undefined) return lock
  const holder = describeLockHolder(folder.file(dataFiles.accountsLock))
  throw new DocumentBusyError(
    `Cannot ${what} "${folder.path}": another command has it${holder === undefined ? '' : ` (${holder})`}; try again when it has ended`,
  )
}
