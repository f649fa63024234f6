import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { readListedChanges } from '../audit/listed-changes.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { ConnbookError, ifPresent, systemCode } from '../errors.ts'
import { openAtomicFile, readStart, removeIfPresent, temporaryFileOf } from '../files/atomic-file.ts'
import type { DataPaths } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { LINE_BYTES_MAX } from '../limits.ts'
import { fileStorage } from '../storage/file/file-storage.ts'
import { BACKUP_START, type Backup, writeBackup } from './backup-document.ts'
import { noData } from './used-folder.ts'

/** They are one line of the backup, and no longer line can be read back. */
const ACCOUNTS_BYTES_MAX = LINE_BYTES_MAX - 4096

const ABANDONED_MS = 60 * 60_000

export class BackupFailedError extends ConnbookError {
  readonly code = 'backup_failed'
}

/**
 * Takes a backup of a folder, whether or not a server runs on it.
 *
 * @throws {DamagedFileError} if the folder is damaged. @throws {FolderRefusedError} if it is not one of connbook.
 * @throws {BackupFailedError} if it has too many accounts.
 */
export async function takeBackup(folder: DataPaths): Promise<Backup> {
  const listed = await readListedChanges(folder)
  const { store, index } = await fileStorage(folder).read(true, listed)
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined || store === undefined) throw noData(folder.path)
  if (Buffer.byteLength(JSON.stringify(accounts)) > ACCOUNTS_BYTES_MAX) {
    throw new BackupFailedError(
      `Cannot keep the accounts of "${folder.path}" in a backup: they take more than ${ACCOUNTS_BYTES_MAX} bytes; copy the folder of the stopped server`,
    )
  }
  return {
    store,
    revision: index.revision,
    lastId: index.lastId,
    createdAt: new Date().toISOString(),
    accounts,
    count: index.count,
    records: index.freeze(),
  }
}

/** @throws {BackupFailedError} if a backup would overwrite something else, or be in the data folder itself. */
export async function checkTarget(path: string, { path: folder, files }: DataPaths) {
  const refuse = (reason: string) =>
    new BackupFailedError(`Cannot keep a backup in "${path}": ${reason}; name another file`)
  try {
    const inFolder = relative(await realpath(folder), await realpath(dirname(path)))
    if (inFolder.split(sep)[0] !== '..' && !isAbsolute(inFolder))
      throw refuse('it is in the data folder itself')
    if (!(await files.lstat(path)).isFile()) throw refuse('it is not a plain file')
    const file = await files.open(path, 'r')
    try {
      const start = Buffer.alloc(BACKUP_START.length)
      const isEmpty = (await readStart(file, start)) === 0
      if (!isEmpty && start.toString() !== BACKUP_START) throw refuse('there is a file that is no backup')
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof ConnbookError || code === undefined) throw error
    if (code !== 'ENOENT') throw refuse(code)
  }
}

/**
 * Writes a backup atomically, over the last one.
 *
 * @param interruption Aborts it; the error names its reason.
 * @throws {BackupFailedError} if it was aborted, or the system failed.
 */
export async function writeToFile(
  path: string,
  backup: Backup,
  interruption: AbortSignal,
  files: FileSystem,
) {
  let isInPlace = false
  try {
    await sweepAbandoned(path, files)
    const file = await openAtomicFile(path, files, { isOwnersOfFolder: false })
    try {
      await writeBackup(backup, (text) => {
        interruption.throwIfAborted()
        return file.write(text)
      })
      await file.commit()
    } finally {
      isInPlace = file.isInPlace
      await file.abort()
    }
  } catch (error) {
    const reason = interruption.aborted ? interruption.reason : systemCode(error)
    if (reason === undefined) throw error
    const state = isInPlace
      ? 'it is there, but may not outlive a power loss'
      : 'what was there before is untouched'
    const advice = adviceFor[reason] ?? ''
    const message = `Cannot keep a backup in "${path}" (${reason}); ${state}${advice}`
    throw new BackupFailedError(message, { cause: error })
  }
}

const adviceFor: Readonly<Record<string, string>> = {
  EACCES: '; name a folder that this account can write',
  EDQUOT: '; make room there',
  EFBIG: '; raise the limit on file sizes',
  ENOENT: '; make its folder first',
  ENOSPC: '; make room there',
  ENOTDIR: '; make its folder first',
  EROFS: '; name a folder that can be written',
}

/** Removes temporary files of killed backups to the same file; younger ones may still be written. */
async function sweepAbandoned(path: string, files: FileSystem) {
  const folder = dirname(path)
  for (const entry of await files.readdir(folder)) {
    if (temporaryFileOf(entry) !== basename(path)) continue
    // Another backup may have completed meanwhile.
    const found = await ifPresent(files.lstat(join(folder, entry)))
    if (found !== undefined && found.mtimeMs < Date.now() - ABANDONED_MS)
      await removeIfPresent(join(folder, entry), files)
  }
}
