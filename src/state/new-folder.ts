import { dirname } from 'node:path'
import { noAccounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { keysDocument } from '../auth/keys.ts'
import { ifPresent, ifReachable } from '../errors.ts'
import {
  type DataFolder,
  type DataPaths,
  dataFiles,
  holdsNothing,
  type LockWait,
  openDataFolder,
  stateFiles,
} from '../files/data-folder.ts'
import { findUnfinishedReplacement } from '../files/folder-replacement.ts'
import { checkNoDanglingLink } from '../files/refusal.ts'
import { createLog } from '../log.ts'
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

/** Whether a folder has files of connbook, but no accounts: they are written last. */
function isHalfMade(entries: readonly string[]): boolean {
  return (
    entries.some((entry) => stateFiles.includes(entry)) &&
    !entries.includes(dataFiles.accounts) &&
    findUnfinishedReplacement(entries) === undefined
  )
}

/**
 * Makes a data folder without accounts and keys, which the first start of a server adds.
 *
 * @param paths For which `isNewFolder` is true.
 * @returns The folder, owned by this process.
 * @throws as `openDataFolder` does.
 */
export async function prepareFolder(
  paths: DataPaths,
  { screen }: { readonly screen: { write(text: string): unknown } },
  wait: LockWait = {},
): Promise<DataFolder> {
  const { path } = paths
  const folder = await openDataFolder(path, paths.files, wait)
  try {
    // Another process may have filled it meanwhile.
    if ((await folder.files.readdir(path)).includes(dataFiles.accounts)) return folder
    await checkNeverStarted(folder)
    const log = { ...createLog('text', (line) => screen.write(line)), info: () => {} }
    await (await openConfigurationStore(folder, { mustExist: false, log })).close()
    // The accounts last, as a first start does: a folder that has them has everything else.
    await keysDocument(folder).write([])
    await accountsDocument(folder).write({ ...noAccounts, isPrepared: true })
    screen.write(
      `connbook: Made the data folder "${path}"; the first start of the server adds what is missing\n`,
    )
    return folder
  } catch (error) {
    folder.release()
    throw error
  }
}
