import { accountsDocument } from '../auth/accounts-file.ts'
import { createKeys } from '../auth/keys.ts'
import { createRevocations } from '../auth/revocations-file.ts'
import { ConnbookError, systemCode } from '../errors.ts'
import { type DataPaths, dataPaths, stateFiles } from '../files/data-folder.ts'
import { finishReplacement, prepareReplacement } from '../files/folder-replacement.ts'
import { fileStorage } from '../storage/file/file-storage.ts'
import type { Backup } from './backup-document.ts'

/** The new files could not be written; the folder is as it was. */
export class RestoreFailedError extends ConnbookError {
  readonly code = 'restore_failed'
}

/** The backup is in the folder and counts from now on, but not all files are in their places. */
export class RestoreIncompleteError extends ConnbookError {
  readonly code = 'restore_incomplete'
}

/**
 * Puts the state of a backup in the place of whatever a folder holds.
 *
 * @returns The folder that keeps the old files; undefined when there were none.
 */
export async function replaceState(
  { path: folder, files }: DataPaths,
  backup: Backup,
): Promise<string | undefined> {
  const replacement = await prepareReplacement(folder, files).catch((error: unknown) => {
    throw notRestored(folder, error)
  })
  try {
    const paths = dataPaths(replacement.path, files)
    await fileStorage(paths).create(backup)
    await createRevocations(paths)
    await createKeys(paths)
    await accountsDocument(paths).write(backup.accounts)
    await replacement.commit()
  } catch (error) {
    // What cannot be removed now is swept when the folder is next opened.
    await replacement.abort().catch(() => {})
    throw notRestored(folder, error)
  }
  try {
    return await finishReplacement(folder, stateFiles, files)
  } catch (error) {
    throw new RestoreIncompleteError(
      `The restore to "${folder}" is not complete (${systemCode(error) ?? error}); start connbook, which completes it`,
      { cause: error },
    )
  }
}

/** An error of the system's as one that says that nothing has changed; any other as it is. */
function notRestored(folder: string, error: unknown): unknown {
  const code = systemCode(error)
  if (error instanceof ConnbookError || code === undefined) return error
  return new RestoreFailedError(
    `Cannot restore to "${folder}" (${code}); nothing has changed; see whether the disk works and has room`,
    { cause: error },
  )
}
