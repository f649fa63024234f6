import { constants, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { FolderInUseError, FolderRefusedError, ifPresent, ifReachable, systemCode } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import { removeIfPresent, sweepTemporaryFiles, syncFolder } from './atomic-file.ts'
import { type FileLock, waitForLock } from './file-lock.ts'
import type { FileSystem } from './file-system.ts'
import {
  asideName,
  committedName,
  findUnfinishedReplacement,
  finishReplacement,
  sweepReplacements,
  unfinishedName,
} from './folder-replacement.ts'
import { filesOf } from './owners-files.ts'
import { describeLockHolder } from './processes.ts'
import { checkNoDanglingLink, findDiskFailure, isDenial, refused, throwExplained } from './refusal.ts'

/** A running server makes it in its data folder; it holds nothing, and a copy of it does no harm. */
export const OWNER_SOCKET = '.control'
/** On Linux; other systems have a few bytes less (unix(7)). */
const SOCKET_PATH_BYTES_MAX = 107

/** All files of a data folder but `auditFiles`. */
export const dataFiles = {
  accounts: 'accounts.json',
  clock: 'clock.json',
  history: 'history.jsonl',
  initialCredentials: 'initial-credentials.json',
  journal: 'journal.jsonl',
  journalOld: 'journal.old.jsonl',
  keys: 'keys.json',
  lastBackup: '.last-backup',
  lock: '.lock',
  node: 'node.json',
  revocations: 'revocations.jsonl',
  snapshot: 'snapshot.json',
} as const

/** The lock file of the accounts in older folders. */
const OLD_ACCOUNTS_LOCK = '.accounts-lock'

/** The files that a restore replaces. */
export const stateFiles: readonly string[] = Object.values(dataFiles).filter((name) => !name.startsWith('.'))

/** The audit trail, newest file first; a restore leaves them in place. */
export const auditFiles = [
  'audit.jsonl',
  'audit.1.jsonl',
  'audit.2.jsonl',
  'audit.3.jsonl',
  'audit.4.jsonl',
] as const

const dataFileNames: readonly string[] = [...Object.values(dataFiles), ...auditFiles, OLD_ACCOUNTS_LOCK]

/** Entries of a folder that still counts as empty. */
const harmlessEntries = new Set(['.gitignore', '.gitkeep', 'lost+found'])

/** Whether a folder holds nothing but what a start or command has left that made nothing: its lock and its socket. */
export function holdsNothing(entries: readonly string[]): boolean {
  const left: readonly string[] = [dataFiles.lock, OLD_ACCOUNTS_LOCK, OWNER_SOCKET]
  return entries.every((entry) => harmlessEntries.has(entry) || left.includes(entry))
}

/** Left by crashes and restores; as secret as the data files. */
const leftovers = [
  /^journal(?:\.old)?\.torn-\d+-[0-9a-f]+$/,
  /^\..+\.[0-9a-f]{12}\.tmp$/,
  asideName,
  committedName,
  unfinishedName,
]

const UNKNOWN_HOLDER = 'which one cannot be told from here; it may run in another container'

export interface DataPaths {
  readonly path: string
  /** The one file system that all of them are read and written through. */
  readonly files: FileSystem
  /** Path of one of `dataFiles` or `auditFiles`. */
  file(name: (typeof dataFiles)[keyof typeof dataFiles] | (typeof auditFiles)[number]): string
}

/** A data folder that this process owns. */
export interface DataFolder extends DataPaths {
  /** The interrupted restore that opening the folder completed. */
  readonly completedRestore: string | undefined
  /** Whether opening it made it. */
  readonly isNew: boolean
  release(): void
}

/** @throws {FolderRefusedError} as `filesOf` does. */
export function dataPaths(path: string, files = filesOf(path)): DataPaths {
  return { path, files, file: (name) => join(path, name) }
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
 * Checks that a folder and its leftovers are private, and its data files private and plain. Changes nothing.
 *
 * @throws {FolderRefusedError} naming path, owner, mode and the command that mends it.
 */
export async function checkDataFolder({ path, files }: DataPaths): Promise<void> {
  const folder = await files.stat(path)
  if (!folder.isDirectory()) throw refused(path, 'it is not a folder', folder, 'name a folder with --data')
  const entries = await files.readdir(path).catch((error: unknown) => {
    const code = systemCode(error) ?? ''
    if (!isDenial(code)) throw error
    throw refused(path, `it cannot be read (${code})`, folder, 'run as its owner, or name another')
  })
  if (isOpenToOthers(folder.mode)) {
    // A chmod could take other programs' files away from their users.
    const isOwn = entries.some((entry) => dataFileNames.includes(entry))
    const command = `run: chmod 700 ${quoteForShell(path)}`
    const advice =
      isOwn || mayBeClosed(entries, folder)
        ? command
        : `use a folder of its own, such as ${quoteForShell(join(path, 'connbook'))}`
    throw refused(path, 'others can get at it', folder, advice)
  }
  for (const entry of entries) {
    const isData = dataFileNames.includes(entry)
    if (!isData && !leftovers.some((name) => name.test(entry))) continue
    const entryPath = join(path, entry)
    // A running server may have moved it.
    const found = await ifPresent(files.lstat(entryPath))
    if (found === undefined) continue
    if (isData && !found.isFile()) throw refused(entryPath, 'it is not a plain file', found, 'move it away')
    const isFolder = found.isDirectory()
    if ((found.isFile() || isFolder) && isOpenToOthers(found.mode)) {
      const command = `run: chmod ${isFolder ? 700 : 600} ${quoteForShell(entryPath)}`
      throw refused(entryPath, 'others can get at it', found, command)
    }
  }
}

/** Whether root should make an open folder private: it was made for the account that owns it, and nobody uses it. */
function mayBeClosed(entries: readonly string[], { mode, uid }: Stats): boolean {
  const isEmpty = entries.every((entry) => harmlessEntries.has(entry))
  return isEmpty && !isSticky(mode) && process.getuid?.() === 0 && uid !== 0
}

/** Whether the folder is on a file system on which nobody can write. */
export async function isReadOnly({ path, files }: DataPaths): Promise<boolean> {
  const fault = await files.access(path, constants.W_OK).then(
    () => undefined,
    (error: unknown) => systemCode(error),
  )
  return fault === 'EROFS'
}

/** For readers that do not own the folder. @throws {FolderRefusedError} while a restore is half done. */
export async function checkNotRestoring({ path, files }: DataPaths): Promise<void> {
  const entry = findUnfinishedReplacement(await files.readdir(path))
  if (entry === undefined) return
  throw new FolderRefusedError(
    `Cannot use "${path}": a restore is not complete, as "${entry}" shows; wait for it, or start connbook, which completes it`,
  )
}

/** Makes an empty folder of this account private instead of refusing it: a fresh clone or mount is often open. */
async function closeIfEmpty(path: string, files: FileSystem): Promise<void> {
  const { mode, uid } = await files.stat(path)
  if (!isOpenToOthers(mode) || isSticky(mode) || uid !== process.getuid?.()) return
  const entries = await files.readdir(path).catch(() => undefined)
  if (entries?.every((entry) => harmlessEntries.has(entry))) await files.chmod(path, 0o700)
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

/** Such a folder is shared by all accounts, as /dev/shm is. */
function isSticky(mode: number): boolean {
  return (mode & 0o1000) !== 0
}

function isOpenToOthers(mode: number): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0
}

/** @param folder Path of a data folder. */
export function ownerSocketPath(folder: string): string {
  return join(folder, OWNER_SOCKET)
}

/** Why the system takes no Unix socket at a path; undefined if it does. */
export function whyTooLong(path: string): string | undefined {
  const bytes = Buffer.byteLength(path)
  return bytes > SOCKET_PATH_BYTES_MAX
    ? `its path has ${bytes} bytes, and the system takes ${SOCKET_PATH_BYTES_MAX}`
    : undefined
}
