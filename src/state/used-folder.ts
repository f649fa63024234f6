import { accountsDocument, accountsMissing } from '../auth/accounts-file.ts'
import { FolderRefusedError, ifPresent, ifReachable } from '../errors.ts'
import {
  checkDataFolder,
  checkNotRestoring,
  type DataPaths,
  dataFiles,
  stateFiles,
} from '../files/data-folder.ts'
import { findUnfinishedReplacement } from '../files/folder-replacement.ts'
import { checkNoDanglingLink } from '../files/refusal.ts'
import { readStore } from '../storage/file/file-storage.ts'
import { checkNoNode, checkNoState, findStoreOf } from './node-folder.ts'

const READ_ATTEMPTS_MAX = 5

/** Made by a first start after the journal. */
const laterFiles: readonly string[] = [dataFiles.revocations, dataFiles.keys, dataFiles.accounts]

/** Whether a first start got beyond making the journal, so that a missing journal is damage. */
export function mustHaveJournal(entries: readonly string[]): boolean {
  return entries.some((entry) => laterFiles.includes(entry))
}

/** Checks that a folder without accounts never had any. @throws {DamagedFileError} if it has had records. */
export async function checkNeverStarted(folder: DataPaths): Promise<void> {
  const mustExist = mustHaveJournal(await folder.files.readdir(folder.path))
  const { index } = await readStore(folder, mustExist)
  if (index.revision > 0) throw accountsMissing(folder)
}

/**
 * Checks that a folder has accounts, and that nobody else can get at it. Changes nothing.
 *
 * @throws {FolderRefusedError} if not, or as `checkDataFolder` does.
 * @throws {DamagedFileError} if the accounts are missing.
 */
export async function checkUsedFolder(folder: DataPaths): Promise<void> {
  await checkNoNode(folder)
  const look = async () => {
    await checkNotRestoring(folder)
    return folder.files.lstat(folder.file(dataFiles.accounts))
  }
  if ((await ifReachable(look())) === undefined) {
    await checkHasData(folder)
    throw accountsMissing(folder)
  }
  await checkDataFolder(folder)
}

/** @throws {FolderRefusedError} if a folder holds no file of connbook, nor an unfinished restore; also if it is a node's,
 * or a link to nothing. */
export async function checkHasData(folder: DataPaths): Promise<void> {
  await checkNoNode(folder)
  if (await hasData(folder)) return
  const { path, files } = folder
  if ((await ifReachable(files.readdir(path))) === undefined) await checkNoDanglingLink(path, files)
  throw noData(path)
}

/** Whether a folder holds a file of connbook, or an unfinished restore; also if it is a node's. */
export async function hasData({ path, files }: DataPaths): Promise<boolean> {
  const entries = (await ifReachable(files.readdir(path))) ?? []
  const isUsed = entries.some((entry) => stateFiles.includes(entry))
  return isUsed || findUnfinishedReplacement(entries) !== undefined
}

/**
 * Reads a folder, again if a restore replaced its files meanwhile.
 *
 * @throws {FolderRefusedError} during a restore; also what `read` throws.
 */
export async function readBetweenRestores<T>(folder: DataPaths, read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    await checkNotRestoring(folder)
    const before = await keysVersion(folder)
    const [outcome] = await Promise.allSettled([read()])
    await checkNotRestoring(folder)
    const isUndisturbed = (await keysVersion(folder)) === before
    if (!isUndisturbed && attempt < READ_ATTEMPTS_MAX) continue
    if (outcome.status === 'rejected') throw outcome.reason
    if (isUndisturbed) return outcome.value
    throw new FolderRefusedError(`Cannot read "${folder.path}": it is replaced again and again; try later`)
  }
}

/**
 * Changes with each restore, which brings new keys; also with a rotation of keys, where reading again does no harm.
 * Includes the time, because a restore may get the inode that a rotation freed.
 */
async function keysVersion(folder: DataPaths): Promise<string | undefined> {
  const found = await ifPresent(folder.files.lstat(folder.file(dataFiles.keys)))
  return found && `${found.ino} ${found.mtimeMs}`
}

export function noData(folder: string): FolderRefusedError {
  return new FolderRefusedError(
    `Cannot find anything of connbook in "${folder}"; name its data folder with --data, or start connbook to make one`,
  )
}

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
