import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { ifPresent, systemCode } from '../errors.ts'
import type { FileSystem, OpenFile } from './file-system.ts'

/** A file that is written in pieces and shows under its name only when complete and on disk. */
export interface AtomicFile {
  write(content: string | Uint8Array): Promise<void>
  /** Bytes written so far. */
  readonly size: number
  /** Whether the file has its name, be that durable or not. */
  readonly isInPlace: boolean
  /** Brings what was written so far to the disk, so that `commit` has less to wait for. */
  datasync(): Promise<void>
  /** Syncs the file, gives it its name, syncs the folder. */
  commit(): Promise<void>
  /** Gives up and removes what was written. Does nothing after `commit`. */
  abort(): Promise<void>
}

/**
 * Opens a file that will replace the one at `path` as a whole, mode 0600.
 *
 * @param sweptAs The file whose sweep removes what is left of this one after a crash; by default itself.
 * @param isOwnersOfFolder Whether what root writes is given to the owner of the folder, who is to read it.
 * @throws the system's error when it cannot be made.
 */
export async function openAtomicFile(
  path: string,
  files: FileSystem,
  { sweptAs = path, isOwnersOfFolder = true } = {},
): Promise<AtomicFile> {
  const temporary = await openTemporaryFile(sweptAs, files, isOwnersOfFolder)
  let size = 0
  let isOpen = true
  let isInPlace = false

  /** What the system says of an open file does not tell which it is. */
  function throwNaming(error: unknown): never {
    if (error instanceof Error && systemCode(error) !== undefined) error.message += ` "${path}"`
    throw error
  }
  async function close() {
    if (isOpen) await temporary.file.close()
    isOpen = false
  }
  return {
    get size() {
      return size
    },
    get isInPlace() {
      return isInPlace
    },
    async write(content) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      await writeAll(temporary.file, bytes, size).catch(throwNaming)
      size += bytes.length
    },
    datasync: () => temporary.file.datasync().catch(throwNaming),
    async commit() {
      await temporary.file.sync().catch(throwNaming)
      await close()
      await files.rename(temporary.path, path)
      isInPlace = true
      await syncFolder(dirname(path), files)
    },
    async abort() {
      await close()
      if (!isInPlace) await removeIfPresent(temporary.path, files)
    },
  }
}

/** Makes an empty file beside `path`, mode 0600, under a name that `sweepTemporaryFiles` knows. */
export async function openTemporaryFile(
  path: string,
  files: FileSystem,
  isOwnersOfFolder = true,
): Promise<{ readonly path: string; readonly file: OpenFile }> {
  const folder = dirname(path)
  const temporary = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  const file = await files.open(temporary, 'wx+', 0o600)
  try {
    if (isOwnersOfFolder) await giveToOwnerOf(folder, file, files)
  } catch (error) {
    await file.close()
    await files.unlink(temporary)
    throw error
  }
  return { path: temporary, file }
}

/** Replaces the file at `path`, mode 0600: after a crash at any moment it holds the old content or the new, whole. */
export async function writeAtomicFile(
  path: string,
  content: string | Uint8Array,
  files: FileSystem,
): Promise<void> {
  const file = await openAtomicFile(path, files)
  try {
    await file.write(content)
    await file.commit()
  } catch (error) {
    await file.abort()
    throw error
  }
}

/** Writes every byte, however many calls it takes. */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/**
 * Fills a buffer from the start of a file, however many calls it takes.
 *
 * @returns How many bytes there were.
 */
export async function readStart(file: OpenFile, bytes: Uint8Array): Promise<number> {
  let length = 0
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length
}

/** Makes the names in a folder survive a power loss. Windows cannot sync a folder and keeps names by itself. */
export async function syncFolder(path: string, files: FileSystem): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await files.open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Removes a file; an absent one is fine. */
export async function removeIfPresent(path: string, files: FileSystem): Promise<void> {
  await ifPresent(files.unlink(path))
}

/** The file that a temporary one was to become; undefined when the name is not that of a temporary file. */
export function temporaryFileOf(entry: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(entry)?.[1]
}

/** Removes what writers of the named files left behind when they were killed. Only for the names' one writer. */
export async function sweepTemporaryFiles(
  folder: string,
  names: readonly string[],
  files: FileSystem,
): Promise<void> {
  for (const entry of await files.readdir(folder)) {
    const name = temporaryFileOf(entry)
    if (name === undefined || !names.includes(name)) continue
    const path = join(folder, entry)
    // A folder is none of ours.
    if (!(await files.lstat(path)).isDirectory()) await files.unlink(path)
  }
}

/** What root writes must stay readable for the account that the server runs under: the owner of the folder. */
export async function giveToOwnerOf(folder: string, file: OpenFile, files: FileSystem): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await files.stat(folder)
  if (uid !== 0) await file.chown(uid, gid)
}
