import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { DamagedFileError, ifPresent } from '../errors.ts'
import {
  copyFrom,
  openAtomicFile,
  openTemporaryFile,
  removeIfPresent,
  syncFolder,
  writeAll,
  writeAtomicFile,
} from '../files/atomic-file.ts'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import { FRAME_CHANGES_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import { encodeFrame } from './frame.ts'
import { type JournalEnd, type JournalStart, readJournal, readJournalHeader } from './journal-reader.ts'

/** The open file and the end of its valid part. */
export interface JournalPosition {
  readonly file: OpenFile
  readonly size: number
  readonly crc: number
  readonly revision: number
  /** Form of the changes in the file. */
  readonly version: number
}

/** Encodes the header and the first changes of a new journal. */
export function encodeJournalStart({ store, after, version }: JournalStart, changes: readonly unknown[]) {
  const start = JSON.stringify([{ journal: version, store }])
  let { crc, bytes } = encodeFrame(0, after, start)
  const frames = [bytes]
  let revision = after
  for (let first = 0; first < changes.length; first += FRAME_CHANGES_MAX) {
    const some = changes.slice(first, first + FRAME_CHANGES_MAX)
    ;({ crc, bytes } = encodeFrame(crc, revision + 1, JSON.stringify(some)))
    frames.push(bytes)
    revision += some.length
  }
  return { bytes: Buffer.concat(frames), crc, revision, version }
}

/** Replaces the file at `path` with an empty journal, durably. */
export function createJournalFile(path: string, header: JournalStart, files: FileSystem): Promise<void> {
  return writeAtomicFile(path, encodeJournalStart(header, []).bytes, files)
}

/**
 * Writes and syncs a new journal and renames it to `path`; the caller syncs the folder.
 *
 * @param keepAs New path of the old file; without it the old file is replaced.
 * @param onLost Called when neither file has the name `path` any more.
 * @throws the system's error; then the old file is still at `path`, or `onLost` was called.
 */
export async function putNextFile(
  path: string,
  header: JournalStart,
  changes: readonly unknown[],
  keepAs: string | undefined,
  files: FileSystem,
  onLost: (error: unknown) => void,
): Promise<JournalPosition> {
  const { bytes, ...end } = encodeJournalStart(header, changes)
  const temporary = await openTemporaryFile(path, files)
  try {
    await writeAll(temporary.file, bytes, 0)
    await temporary.file.sync()
    if (keepAs === undefined) await files.rename(temporary.path, path)
    else await keepAndReplace(keepAs)
    return { file: temporary.file, size: bytes.length, ...end }
  } catch (error) {
    await temporary.file.close()
    await removeIfPresent(temporary.path, files)
    throw error
  }

  async function keepAndReplace(keepAs: string) {
    await files.rename(path, keepAs)
    try {
      // File systems may reorder renames, and the old journal's new name must be durable first.
      await syncFolder(dirname(path), files)
      await files.rename(temporary.path, path)
    } catch (error) {
      await files.rename(keepAs, path).catch(onLost)
      throw error
    }
  }
}

/** An open journal file, before it is read. */
export class JournalFile {
  readonly path: string
  readonly file: OpenFile
  readonly header: JournalStart
  readonly #files: FileSystem

  constructor(path: string, file: OpenFile, header: JournalStart, files: FileSystem) {
    this.path = path
    this.file = file
    this.header = header
    this.#files = files
  }

  /** See `readJournal`. */
  read(visit: (change: unknown, revision: number) => void): Promise<JournalEnd> {
    return readJournal(this.path, this.file, this.header, visit)
  }

  /** Makes the valid part durable and moves a torn tail to a file beside the journal. */
  async cut(end: JournalEnd, log: Log): Promise<JournalPosition> {
    if (end.tornBytes > 0) await this.#setTornTailAside(end, log)
    // A killed process may not have synced what was read here; a later power loss must not undo it.
    else await this.file.datasync()
    return this.positionAt(end)
  }

  /** The position for a journal that nothing is appended to. */
  positionAt({ size, crc, revision }: JournalEnd): JournalPosition {
    const { file, header } = this
    return { file, size, crc, revision, version: header.version }
  }

  close(): Promise<void> {
    return this.file.close()
  }

  async #setTornTailAside({ size, tornBytes }: JournalEnd, log: Log) {
    const { path, file } = this
    const name = `${basename(path, '.jsonl')}.torn-${size}-${randomBytes(3).toString('hex')}`
    const aside = await openAtomicFile(join(dirname(path), name), this.#files, { sweptAs: path })
    try {
      await copyFrom(file, size, aside)
      await aside.commit()
    } finally {
      await aside.abort()
    }
    await file.truncate(size)
    await file.sync()
    log.warn('torn_tail_set_aside', { file: path, offset: size, bytes: tornBytes, kept_as: name })
  }
}

/**
 * Opens a journal and reads its header.
 *
 * @param newest Newest form of changes that the caller knows.
 * @param flags `r` when another process may be writing; then `cut` fails.
 * @returns undefined when there is no such file.
 * @throws {DamagedFileError} as `readJournalHeader` does.
 */
export async function openJournalFile(
  path: string,
  files: FileSystem,
  newest: number,
  flags: 'r' | 'r+' = 'r+',
): Promise<JournalFile | undefined> {
  const file = await ifPresent(files.open(path, flags))
  if (file === undefined) return undefined
  try {
    return new JournalFile(path, file, await readJournalHeader(path, file, newest), files)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** @throws {DamagedFileError} when a journal was written for another store. */
export function checkStore(path: string, header: JournalStart, store: string): void {
  if (header.store === store) return
  const reason = `it belongs to store ${header.store}, not to ${store},`
  throw new DamagedFileError(path, 0, reason, 'put back the file that belongs here')
}
