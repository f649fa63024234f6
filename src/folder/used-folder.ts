import { resolve } from 'node:path'
import { accountsMissing } from '../auth/accounts-file.ts'
import { FolderRefusedError, ifPresent, ifReachable } from '../errors.ts'
import {
  checkDataFolder,
  checkNotRestoring,
  type DataPaths,
  dataFiles,
  dataPaths,
  stateFiles,
} from '../files/data-folder.ts'
import { fileStorage } from '../storage/file/file-storage.ts'

const READ_ATTEMPTS_MAX = 5

/** What a first start makes after the journal and before the accounts. */
const laterFiles: readonly string[] = [dataFiles.revocations, dataFiles.keys]

/** Whether a first start, complete or not, has made a journal, so that its absence is damage. */
export function mustHaveJournal(entries: readonly string[]): boolean {
  return entries.some((entry) => entry === dataFiles.accounts || laterFiles.includes(entry))
}

/**
 * Checks a folder without accounts: it is new, or a first start was interrupted, or the accounts were lost.
 *
 * @throws {DamagedFileError} in the last case.
 */
export async function checkNeverStarted(folder: DataPaths): Promise<void> {
  const mustExist = mustHaveJournal(await folder.files.readdir(folder.path))
  const { index } = await fileStorage(folder).read(mustExist)
  if (index.revision > 0) throw accountsMissing(folder)
}

/**
 * Checks, for commands on a folder that a server has used, that it is one: a mistyped path must not become a new folder.
 *
 * @throws {FolderRefusedError} also as `checkDataFolder` does.
 */
export async function getUsedFolder(path: string): Promise<DataPaths> {
  const folder = dataPaths(resolve(path))
  const look = async () => {
    await checkNotRestoring(folder)
    return folder.files.lstat(folder.file(dataFiles.accounts))
  }
  if ((await ifReachable(look())) === undefined) {
    await checkHasData(folder)
    throw accountsMissing(folder)
  }
  await checkDataFolder(folder)
  return folder
}

/**
 * Checks, before anything else is said of a folder, that it is one of connbook, in whatever state.
 *
 * @throws {FolderRefusedError}
 */
export async function checkHasData({ path, files }: DataPaths): Promise<void> {
  const entries = await ifReachable(files.readdir(path))
  if (!entries?.some((entry) => stateFiles.includes(entry))) throw noData(path)
}

/**
 * Reads a folder, again when a restore has replaced its files meanwhile.
 *
 * @throws {FolderRefusedError} while a restore is going on; also what `read` throws.
 */
export async function readBetweenRestores<T>(folder: DataPaths, read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    await checkNotRestoring(folder)
    const before = await lookOfKeys(folder)
    const [outcome] = await Promise.allSettled([read()])
    await checkNotRestoring(folder)
    const isUndisturbed = (await lookOfKeys(folder)) === before
    if (!isUndisturbed && attempt < READ_ATTEMPTS_MAX) continue
    if (outcome.status === 'rejected') throw outcome.reason
    if (isUndisturbed) return outcome.value
    throw new FolderRefusedError(`Cannot read "${folder.path}": it is replaced again and again; try later`)
  }
}

/**
 * What differs when a restore has been there, because each brings new keys. So does a rotation of keys, after which
 * reading again does no harm; but it also frees an inode, which a restore behind it may get.
 */
async function lookOfKeys(folder: DataPaths): Promise<string | undefined> {
  const found = await ifPresent(folder.files.lstat(folder.file(dataFiles.keys)))
  return found && `${found.ino} ${found.mtimeMs}`
}

/** Nothing is there of what a first start makes. */
export function noData(folder: string): FolderRefusedError {
  return new FolderRefusedError(
    `Cannot find anything of connbook in "${folder}"; name its data folder with --data, or start connbook to make one`,
  )
}
