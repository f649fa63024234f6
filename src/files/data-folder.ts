import { dirname, join } from 'node:path'
import { FolderInUseError, FolderRefusedError, systemCode } from '../errors.ts'
import { sweepTemporaryFiles, syncFolder } from './atomic-file.ts'
import { lockFile } from './file-lock.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'

/** Every file that the program keeps in a data folder. */
export const dataFiles = {
  accounts: 'accounts.json',
  accountsLock: '.accounts-lock',
  initialCredentials: 'initial-credentials.json',
  journal: 'journal.jsonl',
  journalOld: 'journal.old.jsonl',
  keys: 'keys.json',
  lock: '.lock',
  revocations: 'revocations.jsonl',
  snapshot: 'snapshot.json',
} as const

/** Files that only the owner of the folder writes; the others belong to whoever holds the accounts lock. */
const ownersFiles = [
  dataFiles.journal,
  dataFiles.journalOld,
  dataFiles.keys,
  dataFiles.revocations,
  dataFiles.snapshot,
]

/** What may lie in a folder that is still nobody's. */
const harmlessEntries = new Set(['.gitignore', '.gitkeep', 'lost+found'])

/** A data folder that this process, and no other, writes. */
export interface DataFolder {
  /** Path of one of `dataFiles`. */
  file(name: (typeof dataFiles)[keyof typeof dataFiles]): string
  readonly path: string
  release(): void
}

/**
 * Makes the folder if it is missing (0700), checks that it is private and holds nothing foreign, and takes it over.
 *
 * @throws {FolderInUseError} if another process owns it.
 * @throws {FolderRefusedError} if it, or a file in it, is of the wrong kind or open to others.
 */
export async function openDataFolder(path: string, files: FileSystem = realFileSystem): Promise<DataFolder> {
  await makeFolder(path, files)
  await checkDataFolder(path, files)
  const lock = lockFile(join(path, dataFiles.lock))
  if (lock === undefined) {
    throw new FolderInUseError(
      `Cannot use data folder "${path}": another process has it; stop that one, or name another folder with --data`,
    )
  }
  try {
    await sweepTemporaryFiles(path, ownersFiles, files)
  } catch (error) {
    lock.release()
    throw error
  }
  return { path, file: (name) => join(path, name), release: lock.release }
}

/**
 * Checks that a folder is private and that each data file in it is a plain, private file.
 *
 * A folder that is empty so far, as a fresh clone or mount has it, is made private instead of refused.
 *
 * @throws {FolderRefusedError} naming path, owner, mode and the command that mends it.
 */
export async function checkDataFolder(path: string, files: FileSystem = realFileSystem): Promise<void> {
  const folder = await files.stat(path)
  if (!folder.isDirectory()) throw refused(path, 'it is not a folder', folder, 'name a folder with --data')
  const entries = await files.readdir(path).catch((error: unknown) => {
    throw refused(
      path,
      `it cannot be read (${systemCode(error)})`,
      folder,
      'run as its owner, or name another',
    )
  })
  if (isOpenToOthers(folder.mode)) {
    const isEmpty = entries.every((entry) => harmlessEntries.has(entry))
    if (!isEmpty || folder.uid !== process.getuid?.()) {
      const advice = `use a folder of its own, or run: chmod 700 '${path}'`
      throw refused(path, 'others can get at it', folder, advice)
    }
    await files.chmod(path, 0o700)
  }
  const known: readonly string[] = Object.values(dataFiles)
  for (const entry of entries.filter((name) => known.includes(name))) {
    const entryPath = join(path, entry)
    const found = await files.lstat(entryPath)
    if (!found.isFile()) throw refused(entryPath, 'it is not a plain file', found, 'move it away')
    if (isOpenToOthers(found.mode)) {
      throw refused(entryPath, 'others can get at it', found, `run: chmod 600 '${entryPath}'`)
    }
  }
}

async function makeFolder(path: string, files: FileSystem): Promise<void> {
  try {
    const firstMade = await files.mkdir(path, 0o700)
    if (firstMade === undefined) return
    for (let made = path; ; made = dirname(made)) {
      await syncFolder(dirname(made), files)
      if (made === firstMade || dirname(made) === made) break
    }
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    throw new FolderRefusedError(
      `Cannot make data folder "${path}" (${systemCode(error)}); name a folder that can be written with --data`,
      { cause: error },
    )
  }
}

function isOpenToOthers(mode: number): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0
}

function refused(path: string, reason: string, found: { uid: number; mode: number }, advice: string) {
  const mode = (found.mode & 0o7777).toString(8).padStart(4, '0')
  return new FolderRefusedError(
    `Cannot use "${path}": ${reason} (owner ${found.uid}, mode ${mode}); ${advice}`,
  )
}
