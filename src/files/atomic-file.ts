import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifPresent, systemCode } from '../errors.ts'
import type { FileSystem, OpenFile } from './file-system.ts'

const COPY_BYTES = 64 * 1024
/** The permissions; a replaced file passes on no set-user-ID bit. */
const MODE = 0o777

/** A file that gets its name only once it is complete and on disk. */
export interface AtomicFile {
  write(content: string | Uint8Array): Promise<void>
  /** Bytes written. */
  readonly size: number
  /** Whether the file has its name, durably or not. */
  readonly isInPlace: boolean
  /** Gives the file the mode of another one and, as root, its owner and group. Before `commit`. */
  setAccess(like: Stats): Promise<void>
  /** What the system says of the file, which keeps its inode. Before `commit`. */
  stat(): Promise<Stats>
  /** Syncs early, so that `commit` has less to sync. */
  datasync(): Promise<void>
  /** Syncs the file, gives it its name, syncs the folder. */
  commit(): Promise<void>
  /** Removes the file. Does nothing after `commit`. */
  abort(): Promise<void>
}

/**
 * Opens a temporary file, mode 0600, that `commit` puts in the place of `path`.
 *
 * @param sweptAs The file whose `sweepTemporaryFiles` also removes this one after a crash.
 */
export async function openAtomicFile(
  path: string,
  files: FileSystem,
  { sweptAs = path } = {},
): Promise<AtomicFile> {
  const temporary = await openTemporaryFile(sweptAs, files)
  let size = 0
  let isOpen = true
  let isInPlace = false

  /** Names the file that is to be replaced, not the temporary one. */
  function throwNaming(error: unknown): never {
    if (error instanceof Error && systemCode(error) !== undefined) {
      error.message += ` "${path}"`
      Object.assign(error, { path })
    }
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
    async setAccess({ uid, gid, mode }) {
      // Through the open file: another file could take the place of a path.
      const { file } = temporary
      try {
        const own = await file.stat()
        if (process.getuid?.() === 0 && (own.uid !== uid || own.gid !== gid)) await file.chown(uid, gid)
        await file.chmod(mode & MODE)
      } catch (error) {
        throwNaming(error)
      }
    },
    stat: () => temporary.file.stat().catch(throwNaming),
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

/** Makes an empty file beside `path`, mode 0600, with a name that `sweepTemporaryFiles` finds. */
export async function openTemporaryFile(
  path: string,
  files: FileSystem,
): Promise<{ readonly path: string; readonly file: OpenFile }> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  return { path: temporary, file: await files.open(temporary, 'wx+', 0o600) }
}

/** Replaces the file at `path`, mode 0600; a crash leaves the old content or the new, whole. */
export async function writeAtomicFile(
  path: string,
  content: string | Uint8Array,
  files: FileSystem,
): Promise<void> {
  const file = await openAtomicFile(path, files)
  try {
    await file.write(content)
    await file.commit()
  } finally {
    await file.abort()
  }
}

/** Repeats short writes until every byte is written. */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/** Appends what a file holds from an offset on. */
export async function copyFrom(source: OpenFile, start: number, target: AtomicFile): Promise<void> {
  const chunk = Buffer.alloc(COPY_BYTES)
  for (let offset = start; ; ) {
    const { bytesRead } = await source.read(chunk, 0, chunk.length, offset)
    if (bytesRead === 0) return
    await target.write(chunk.subarray(0, bytesRead))
    offset += bytesRead
  }
}

/** Repeats short reads until `bytes` is full. @returns How many bytes were read; fewer only at the end of the file. */
export async function readAt(file: OpenFile, position: number, bytes: Uint8Array): Promise<number> {
  let length = 0
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, position + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length
}

/** Makes the names in a folder durable. Windows cannot sync a folder, and does not need it. */
export async function syncFolder(path: string, files: FileSystem): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await files.open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export async function removeIfPresent(path: string, files: FileSystem): Promise<void> {
  await ifPresent(files.unlink(path))
}

/** The name that a temporary file would have got; undefined for other names. */
export function temporaryFileOf(entry: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(entry)?.[1]
}

/** Removes the temporary files that killed writers of `names` left. Only for the one writer of those files. */
export async function sweepTemporaryFiles(
  folder: string,
  names: readonly string[],
  files: FileSystem,
): Promise<void> {
  for (const entry of await files.readdir(folder)) {
    const name = temporaryFileOf(entry)
    if (name === undefined || !names.includes(name)) continue
    const path = join(folder, entry)
    // A folder of that name is not ours.
    if (!(await files.lstat(path)).isDirectory()) await files.unlink(path)
  }
}
