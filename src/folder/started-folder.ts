import { accountsDocument } from '../auth/accounts-file.ts'
import { FolderRefusedError, ifReachable } from '../errors.ts'
import { checkNoDanglingLink } from '../files/dangling-link.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { findUnfinishedReplacement } from '../files/folder-replacement.ts'
import { checkNoNode, checkNoState, findStoreOf } from './node-folder.ts'
import { checkNeverStarted } from './used-folder.ts'

/**
 * Checks that a server has started in a folder before, as `--existing` asks. Changes nothing: the folder may be a mount
 * point on which nothing is mounted.
 *
 * @param isNode Whether it is to be the folder of a node of a cluster.
 * @throws {FolderRefusedError} if none has, or the folder is missing.
 * @throws {DamagedFileError} if the accounts are missing or cannot be read.
 */
export async function checkHasStarted(folder: DataPaths, isNode: boolean): Promise<void> {
  const { path, files } = folder
  const entries = await ifReachable(files.readdir(path))
  if (entries === undefined) {
    await checkNoDanglingLink(path, files)
    throw neverStarted(path, 'there is no such folder')
  }
  // Opening the folder completes it, and then it has everything.
  if (findUnfinishedReplacement(entries) !== undefined) return
  if (!(isNode ? await hasBeenNode(folder) : await hasHadServer(folder)))
    throw neverStarted(path, 'no server has ever started there')
}

async function hasBeenNode(folder: DataPaths): Promise<boolean> {
  await checkNoState(folder)
  return (await findStoreOf(folder)) !== undefined
}

async function hasHadServer(folder: DataPaths): Promise<boolean> {
  await checkNoNode(folder)
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined) await checkNeverStarted(folder)
  return accounts !== undefined && accounts.isPrepared !== true
}

function neverStarted(path: string, reason: string): FolderRefusedError {
  return new FolderRefusedError(
    `Cannot start in "${path}": ${reason}, and --existing (CONNBOOK_EXISTING) asks for one that a server has used; mount or name that folder, or leave --existing out to start a new book`,
  )
}
