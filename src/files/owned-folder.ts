import { constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { FolderInUseError, FolderRefusedError, ifPresent, ifReachable, systemCode } from '../errors.ts'
import { removeIfPresent, sweepTemporaryFiles, syncFolder } from './atomic-file.ts'
import {
  auditFiles,
  checkDataFolder,
  closeIfEmpty,
  type DataPaths,
  dataFiles,
  dataPaths,
  OLD_ACCOUNTS_LOCK,
  stateFiles,
} from './data-folder.ts'
import { type FileLock, waitForLock } from './file-lock.ts'
import type { FileSystem } from './file-system.ts'
import { findUnfinishedReplacement, finishReplacement, sweepReplacements } from './folder-replacement.ts'
import { filesOf } from './owners-files.ts'
import { describeLockHolder } from './processes.ts'
import { checkNoDanglingLink, findDiskFailure, isDenial, refused, throwExplained } from './refusal.ts'

const UNKNOWN_HOLDER = 'which one cannot be told from here; it may run in another container'

/** A data folder that this process owns. */
export interface DataFolder extends DataPaths {
  /** The interrupted restore that opening the folder completed. */
  readonly completedRestore: string | undefined
  /** Whether opening it made it. */
  readonly isNew: boolean
  release(): void
}

/** How long another process that owns a folder is waited for. */
export interface LockWait {
  /** LOCK_WAIT_MS if absent. */
  readonly lockWaitMs?: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Makes the folder if it is missing, but no parents, makes it private (0700) if it is empty, checks it, locks it, and completes an
 * interrupted restore. Leaves unknown files alone.
 *
 * @throws {FolderInUseError} if another process still owns it at the end of the wait.
 * @throws {FolderRefusedError} if it cannot be written; also as `checkDataFolder` and `filesOf` do.
 */
export async function openDataFolder(
  path: string,
  files = filesOf(path),
  wait: LockWait = {},
): Promise<DataFolder> {
  const paths = dataPaths(path, files)
  const isNew = await makeFolder(path, files)
  await closeIfEmpty(path, files)
  await checkDataFolder(paths)
  const lock = await waitForLock(() => takeLock(paths), wait.lockWaitMs, wait.signal)
  if (lock === undefined) throw inUse(paths)
  try {
    const completedRestore = findUnfinishedReplacement(await files.readdir(path))
    await settleFolder(path, files)
    return { ...paths, completedRestore, isNew, release: lock.release }
  } catch (error) {
    lock.release()
    throw error
  }
}

function inUse({ path, file }: DataPaths): FolderInUseError {
  const holder = describeLockHolder(file(dataFiles.lock)) ?? UNKNOWN_HOLDER
  return new FolderInUseError(
    `Cannot use data folder "${path}": another process has it (${holder}); stop that one, or name another folder with --data`,
  )
}

/**
 * Looks at a folder that this process does not own. What it throws may be about a folder that its owner has half made, or is
 * taking back: then it looks again while nobody owns it.
 *
 * @throws {FolderInUseError} if another process owns it. Also throws as `look` does.
 */
export async function lookUndisturbed<T>(paths: DataPaths, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    const path = paths.file(dataFiles.lock)
    if ((await ifReachable(paths.files.lstat(path)))?.isFile() !== true) return look()
    const lock = await lockIfPossible(path, paths.files, error)
    if (lock === undefined) {
      // Whoever has it, and however far it is made, one that is open to others is not used.
      await ifReachable(checkDataFolder(paths))
      throw inUse(paths)
    }
    try {
      return await look()
    } finally {
      lock.release()
    }
  }
}

/** @param error Is thrown if the file cannot be locked, which says less. */
async function lockIfPossible(
  path: string,
  files: FileSystem,
  error: unknown,
): Promise<FileLock | undefined> {
  try {
    return await files.lock(path)
  } catch {
    throw error
  }
}

/** Releases a folder. If opening it made it, and nothing was put into it since, it is removed. */
export async function leaveFolder({ path, files, file, isNew, release }: DataFolder): Promise<void> {
  const [entry, ...others] = isNew ? await files.readdir(path).catch(() => []) : []
  if (entry === dataFiles.lock && others.length === 0) {
    // While it is locked, so that whoever comes next makes a folder, and a lock, of its own. A folder that stays does no
    // harm, and why the start was refused says more than why it stays.
    await files.unlink(file(dataFiles.lock)).catch(() => {})
    await files.rmdir(path).catch(() => {})
  }
  release()
}

/** Completes or removes what a killed process left half done. Only for the owner of the folder, before it reads. */
export async function settleFolder(path: string, files: FileSystem): Promise<void> {
  // First, because later steps rely on names that a killed process may not have synced.
  await syncFolder(path, files)
  await finishReplacement(path, stateFiles, files)
  await sweepReplacements(path, files)
  await sweepTemporaryFiles(path, [...stateFiles, auditFiles[0], dataFiles.lastBackup], files)
  await removeIfPresent(join(path, OLD_ACCOUNTS_LOCK), files)
}

/**
 * @returns undefined when somebody else holds the lock, or has removed it meanwhile.
 * @throws {FolderRefusedError} if the folder cannot be written, or the file cannot be locked.
 */
async function takeLock({ path: folder, files, file }: DataPaths): Promise<FileLock | undefined> {
  await files.access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    // Whoever had it has removed it again, because nothing came of it.
    if (systemCode(error) === 'ENOENT') return makeFolder(folder, files)
    return throwExplained(error, files)
  })
  const path = file(dataFiles.lock)
  const before = await ifPresent(files.lstat(path))
  try {
    const lock = await files.lock(path)
    if (lock === undefined) return undefined
    try {
      const after = await files.lstat(path)
      if ((before ?? after).ino === after.ino) return lock
    } catch (error) {
      lock.release()
      throw error
    }
    // Whoever had the folder removed it with its lock: the next who makes one would lock another file.
    lock.release()
    return undefined
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'ENOENT') return undefined
    if (findDiskFailure(code) !== undefined || isDenial(code)) return throwExplained(error, files)
    const reason = error instanceof Error ? error.message : String(error)
    const found = await files.lstat(path).catch(() => undefined)
    if (found === undefined)
      throw refused(path, `it cannot be made (${reason})`, found, 'see whether the disk works and has room')
    throw refused(path, reason, found, 'make sure that no connbook uses the folder, and remove the file')
  }
}

/**
 * Makes no parents: they are missing when a disk is not mounted or a path is wrong, and a new book there helps nobody.
 *
 * @returns Whether it was missing.
 */
async function makeFolder(path: string, files: FileSystem): Promise<boolean> {
  try {
    await files.mkdir(path, 0o700)
    await syncFolder(dirname(path), files)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof FolderRefusedError || code === undefined) throw error
    if (['EEXIST', 'ENOENT', 'ELOOP'].includes(code)) await checkNoDanglingLink(path, files)
    if (code === 'EEXIST') return false
    const { reason, remedy } = whyNotMade(path, code)
    throw new FolderRefusedError(`Cannot make data folder "${path}": ${reason}; ${remedy}`, { cause: error })
  }
}

function whyNotMade(path: string, code: string): { readonly reason: string; readonly remedy: string } {
  if (code === 'ENOENT')
    return {
      reason: `there is no folder "${dirname(path)}" (${code})`,
      remedy: 'mount or make that one, or name another folder with --data',
    }
  const { reason, remedy } = findDiskFailure(code) ?? {
    reason: 'the system refused it',
    remedy: 'name a folder that can be written with --data',
  }
  return { reason: `${reason} (${code})`, remedy }
}
