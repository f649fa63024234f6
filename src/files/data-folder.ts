import { constants, type Stats } from 'node:fs'
import { join } from 'node:path'
import { FolderRefusedError, ifPresent, systemCode } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import type { FileSystem } from './file-system.ts'
import { asideName, committedName, findUnfinishedReplacement, unfinishedName } from './folder-replacement.ts'
import { filesOf } from './owners-files.ts'
import { isDenial, refused } from './refusal.ts'

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
export const OLD_ACCOUNTS_LOCK = '.accounts-lock'

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

export interface DataPaths {
  readonly path: string
  /** The one file system that all of them are read and written through. */
  readonly files: FileSystem
  /** Path of one of `dataFiles` or `auditFiles`. */
  file(name: (typeof dataFiles)[keyof typeof dataFiles] | (typeof auditFiles)[number]): string
}

/** @throws {FolderRefusedError} as `filesOf` does. */
export function dataPaths(path: string, files = filesOf(path)): DataPaths {
  return { path, files, file: (name) => join(path, name) }
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
export async function closeIfEmpty(path: string, files: FileSystem): Promise<void> {
  const { mode, uid } = await files.stat(path)
  if (!isOpenToOthers(mode) || isSticky(mode) || uid !== process.getuid?.()) return
  const entries = await files.readdir(path).catch(() => undefined)
  if (entries?.every((entry) => harmlessEntries.has(entry))) await files.chmod(path, 0o700)
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
