import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, sep } from 'node:path'
import { readListedChanges } from '../audit/listed-changes.ts'
import type { Accounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { ConnbookError, ifReachable, systemCode } from '../errors.ts'
import { readAt, writeAtomicFile } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { FileNotReplacedError, replaceFile } from '../files/replaced-file.ts'
import { LINE_BYTES_MAX } from '../limits.ts'
import { type Family, gauge } from '../metrics/family.ts'
import { readStore } from '../storage/file/file-storage.ts'
import { BACKUP_START, type Backup, writeBackup } from './backup-document.ts'
import { readKeptHistory } from './kept-history.ts'
import { noData } from './used-folder.ts'

/** They are one line of the backup, and no longer line can be read back. */
const ACCOUNTS_BYTES_MAX = LINE_BYTES_MAX - 4096

/** Begins the message of an error about the file of a backup. */
export const CANNOT_KEEP = 'Cannot keep a backup in'

export class BackupFailedError extends ConnbookError {
  readonly code = 'backup_failed'
}

/**
 * Takes a backup of a folder, whether or not a server runs on it.
 *
 * @param withHistory Whether it takes the history along.
 *
 * @throws {DamagedFileError} if the folder is damaged. @throws {FolderRefusedError} if it is not one of connbook.
 * @throws {BackupFailedError} if it has too many accounts.
 */
export async function takeBackup(folder: DataPaths, withHistory = false): Promise<Backup> {
  const listed = await readListedChanges(folder)
  const { store, index } = await readStore(folder, true, listed)
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined || store === undefined) throw noData(folder.path)
  checkAccounts(accounts, folder.path, 'copy the folder of the stopped server')
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

/** @throws {BackupFailedError} if a backup cannot hold so many accounts. */
export function checkAccounts(accounts: Accounts, place: string, advice: string): void {
  if (Buffer.byteLength(JSON.stringify(accounts)) <= ACCOUNTS_BYTES_MAX) return
  throw new BackupFailedError(
    `Cannot keep the accounts of "${place}" in a backup: they take more than ${ACCOUNTS_BYTES_MAX} bytes; ${advice}`,
  )
}

/** @throws {BackupFailedError} if a backup would overwrite something else, or be in the data folder itself. */
export async function checkTarget(path: string, folder: DataPaths | undefined) {
  const refuse = (reason: string) =>
    new BackupFailedError(`${CANNOT_KEEP} "${path}": ${reason}; name another file`)
  try {
    if (folder !== undefined && (await isInside(folder.path, path)))
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
  backup: Backup,
  interruption: AbortSignal,
  files: FileSystem = realFileSystem,
) {
  try {
    const write = (piece: (text: string) => Promise<void>) => writeBackup(backup, piece)
    await replaceFile(path, CANNOT_KEEP, write, interruption, files)
  } catch (error) {
    if (!(error instanceof FileNotReplacedError)) throw error
    throw new BackupFailedError(error.message, { cause: error.cause })
  }
}

/** Whether a file at a path would be in a data folder, also behind a link to a folder. A link to a file counts itself. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const above = await ifReachable(realpath(dirname(path)))
  if (above === undefined) return false
  const root = await ifReachable(realpath(folder))
  if (root === undefined) return false
  const way = relative(root, above)
  return way.split(sep)[0] !== '..' && !isAbsolute(way)
}

interface Screen {
  write(text: string): unknown
}

/** Keeps in a folder that a backup of it is complete, for `backupMetrics`. @throws the system's error. */
export function writeBackupTime({ file, files }: DataPaths): Promise<void> {
  return writeAtomicFile(file(dataFiles.lastBackup), `${new Date().toISOString()}\n`, files)
}

/** As `writeBackupTime`. Never rejects: a failure is only shown. */
export async function keepBackupTime(folder: DataPaths, screen: Screen): Promise<void> {
  try {
    await writeBackupTime(folder)
  } catch (error) {
    // No server runs where nothing can be written.
    if (systemCode(error) === 'EROFS') return
    screen.write(
      `connbook: Warning: the metrics do not show this backup, as its time cannot be kept in "${folder.path}" (${systemCode(error)}); run the command as the owner of the folder\n`,
    )
  }
}

/** When the last backup of a folder was complete, which another process may have taken. */
export function backupMetrics({ file, files }: DataPaths): Family[] {
  return [
    gauge(
      'connbook_backup_last_timestamp_seconds',
      'When the last backup of the data folder was complete, in seconds since 1970; none before the first.',
      () => {
        try {
          // The time of the file is the time of the backup.
          const found = files.statNow(file(dataFiles.lastBackup))
          return found && Math.floor(found.mtimeMs / 1000)
        } catch {
          return undefined
        }
      },
    ),
  ]
}
