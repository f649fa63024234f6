import { dirname, join } from 'node:path'
import { noAccounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { keysDocument } from '../auth/keys.ts'
import { ifPresent, ifReachable } from '../errors.ts'
import { removeIfPresent, syncFolder, temporaryFileOf } from '../files/atomic-file.ts'
import { auditFiles, type DataPaths, dataFiles, holdsNothing, stateFiles } from '../files/data-folder.ts'
import { findUnfinishedReplacement } from '../files/folder-replacement.ts'
import { type DataFolder, type LockWait, leaveFolder, openDataFolder } from '../files/owned-folder.ts'
import { checkNoDanglingLink } from '../files/refusal.ts'
import type { Log } from '../log.ts'
import { openConfigurationStore } from '../storage/file/file-storage.ts'
import { isNodeFolder } from './node-folder.ts'
import { checkNeverStarted } from './used-folder.ts'

/**
 * Whether a command can make a data folder: an empty folder is there, or one that a first start or a command
 * left half made, or none and the folder above exists, so that a mistyped path makes no chain of folders.
 *
 * @throws {FolderRefusedError} for a link to nothing.
 * @throws {DamagedFileError} if the folder has no accounts, but has had records, or they cannot be read.
 */
export async function isNewFolder(folder: DataPaths): Promise<boolean> {
  const { path: full, files } = folder
  const found = await ifReachable(files.stat(full))
  if (found === undefined) await checkNoDanglingLink(full, files)
  if (found === undefined) return (await ifReachable(files.stat(dirname(full))))?.isDirectory() ?? false
  if (!found.isDirectory()) return false
  const entries = await files.readdir(full)
  if (holdsNothing(entries)) return true
  if (await isNodeFolder(folder)) return false
  if (!isHalfMade(entries)) return false
  try {
    await checkNeverStarted(folder)
    return true
  } catch (error) {
    // Another process may have completed it meanwhile.
    if ((await ifPresent(files.lstat(folder.file(dataFiles.accounts)))) !== undefined) return false
    throw error
  }
}

/** Whether a folder has files of connbook, perhaps not whole yet, but no accounts: they are written last. */
function isHalfMade(entries: readonly string[]): boolean {
  return (
    entries.some((entry) => stateFiles.includes(temporaryFileOf(entry) ?? entry)) &&
    !entries.includes(dataFiles.accounts) &&
    findUnfinishedReplacement(entries) === undefined
  )
}

/** A data folder of which a command makes a book. */
export interface PreparedFolder {
  /** Owned by this process. */
  readonly folder: DataFolder
  /** Removes what was made, and releases the folder; undefined if another process had made it already. */
  readonly undo: (() => Promise<void>) | undefined
}

/**
 * Makes a data folder without accounts and keys, which the first start of a server adds.
 *
 * @param paths For which `isNewFolder` is true.
 * @throws as `openDataFolder` does. Then it has made nothing.
 */
export async function prepareFolder(
  paths: DataPaths,
  log: Log,
  wait: LockWait = {},
): Promise<PreparedFolder> {
  const folder = await openDataFolder(paths.path, paths.files, wait)
  let undo = async () => folder.release()
  try {
    const before = await folder.files.readdir(paths.path)
    if (before.includes(dataFiles.accounts)) return { folder, undo: undefined }
    undo = () => removeMade(folder, before)
    await fill(folder, log)
    return { folder, undo }
  } catch (error) {
    await undo()
    throw error
  }
}

async function fill(folder: DataFolder, log: Log): Promise<void> {
  await checkNeverStarted(folder)
  await (await openConfigurationStore(folder, { mustExist: false, log })).close()
  // The accounts last, as a first start does: a folder that has them has everything else.
  await keysDocument(folder).write([])
  await accountsDocument(folder).write({ ...noAccounts, isPrepared: true })
}

/** @param before Entries that were there when this process got the folder. */
async function removeMade(folder: DataFolder, before: readonly string[]): Promise<void> {
  const { path, files } = folder
  const made = (names: readonly string[]) => names.filter((name) => !before.includes(name))
  try {
    // In the opposite order of making: whatever is left if this is killed can still be made a book.
    for (const names of [[dataFiles.accounts], [dataFiles.keys], [...stateFiles, ...auditFiles]]) {
      for (const name of made(names)) await removeIfPresent(join(path, name), files)
      await syncFolder(path, files)
    }
  } catch {
    // Why the change was refused says more than why something of a book without records stays.
  }
  await leaveFolder(folder)
}
