import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, sep } from 'node:path'
import type { Accounts } from '../auth/accounts.ts'
import { ConnbookError, ifReachable, systemCode } from '../errors.ts'
import { readAt, writeAtomicFile } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { FileNotReplacedError, replaceFile } from '../files/replaced-file.ts'
import { LINE_BYTES_MAX } from '../limits.ts'
import { inTurn } from '../system-account.ts'
import { BACKUP_START } from './backup-document.ts'

/** They are one line of the backup, and no longer line can be read back. */
const ACCOUNTS_BYTES_MAX = LINE_BYTES_MAX - 4096

/** Begins the message of an error about the file of a backup. */
export const CANNOT_KEEP = 'Cannot keep a backup in'

export class BackupFailedError extends ConnbookError {
  readonly code = 'backup_failed'
}

/** @throws {BackupFailedError} if a backup cannot hold so many accounts. */
export function checkAccounts(accounts: Accounts, place: string, advice: string): void {
  if (Buffer.byteLength(JSON.stringify(accounts)) <= ACCOUNTS_BYTES_MAX) return
  throw new BackupFailedError(
    `Cannot keep the accounts of "${place}" in a backup: they take more than ${ACCOUNTS_BYTES_MAX} bytes; ${advice}`,
  )
}

/** @throws {BackupFailedError} if a backup would overwrite something else, or be in the data folder itself. */
export async function checkTarget(path: string, folder: string | undefined) {
  const refuse = (reason: string) =>
    new BackupFailedError(`${CANNOT_KEEP} "${path}": ${reason}; name another file`)
  try {
    if (folder !== undefined && (await isInside(folder, path)))
      throw refuse('it is in the data folder itself')
    if (!(await realFileSystem.lstat(path)).isFile()) throw refuse('it is not a plain file')
    const file = await realFileSystem.open(path, 'r')
    try {
      const start = Buffer.alloc(BACKUP_START.length)
      const isEmpty = (await readAt(file, 0, start)) === 0
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

/** Writes a backup atomically, over the last one. @throws {BackupFailedError} as `replaceFile` fails. */
export async function writeToFile(
  path: string,
  write: (print: (text: string) => Promise<void>) => Promise<void>,
  interruption: AbortSignal,
  files: FileSystem = realFileSystem,
) {
  try {
    await replaceFile(path, CANNOT_KEEP, write, interruption, files)
  } catch (error) {
    if (!(error instanceof FileNotReplacedError)) throw error
    throw new BackupFailedError(error.message, { cause: error.cause })
  }
}

/** Whether a file at a path would be in a data folder, also behind a link to a folder. A link to a file counts itself. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const above = await ifReachable(inTurn(() => realpath(dirname(path))))
  if (above === undefined) return false
  const root = await ifReachable(inTurn(() => realpath(folder)))
  if (root === undefined) return false
  const way = relative(root, above)
  return way.split(sep)[0] !== '..' && !isAbsolute(way)
}

/** Keeps in a folder that a backup of it is complete. @returns When, in ms since 1970. @throws the system's error. */
export async function keepBackupTime({ file, files }: DataPaths): Promise<number> {
  const now = Date.now()
  await writeAtomicFile(file(dataFiles.lastBackup), `${new Date(now).toISOString()}\n`, files)
  return now
}

/** When `keepBackupTime` was last called for a folder, in ms since 1970; undefined if never, or if it cannot be read. */
export async function readBackupTime({ file, files }: DataPaths): Promise<number | undefined> {
  const found = await files.stat(file(dataFiles.lastBackup)).catch(() => undefined)
  // The time of the file: a copy of the folder is no backup of it.
  return found?.mtimeMs
}
