import { FolderRefusedError, ifPresent, systemCode } from '../errors.ts'
import { copyFrom, openAtomicFile, syncFolder } from '../files/atomic-file.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { OpenFile } from '../files/file-system.ts'
import type { Log } from '../log.ts'

/** How often a rotation that fails is tried again while the file grows by as much as it may hold. */
const ROTATIONS_TRIED = 16

/**
 * The files of the audit trail. Lines are appended to the first. Before it exceeds `bytesMax`, each file gets the name
 * of the next, and the last is lost.
 *
 * Other processes may append at the same time; one that has the file open then goes on in the renamed file.
 */
export class AuditFile {
  /** Where lines are appended. */
  readonly path: string
  readonly #folder: DataPaths
  readonly #bytesMax: number
  readonly #log: Log
  #file: OpenFile | undefined
  #bytes = 0
  /** Whether the file may end in half a line, which needs a newline before the next one. */
  #isTorn = false
  /** Whether a power loss could still take the names of the files. */
  #isFolderDue = true
  /** Whether a sync failed: then the kernel may have dropped what it should have written. */
  #isUnsure = false
  /** Size above which the next rotation is tried. */
  #rotateAbove: number

  constructor(folder: DataPaths, bytesMax: number, log: Log) {
    this.path = folder.file(auditFiles[0])
    this.#folder = folder
    this.#bytesMax = bytesMax
    this.#rotateAbove = bytesMax
    this.#log = log
  }

  /**
   * Opens the file if it is there; otherwise `append` creates it.
   *
   * @throws {FolderRefusedError} Also the system's error if it cannot be opened; `append` then tries again.
   */
  async open(): Promise<void> {
    const file = await this.#openFound(this.path)
    if (file === undefined) return
    try {
      this.#isTorn = await this.#endsInHalfLine(file)
    } catch (error) {
      await file.close()
      throw error
    }
    this.#file = file
  }

  /** Also takes the size of the file. */
  async #endsInHalfLine(file: OpenFile): Promise<boolean> {
    this.#bytes = (await file.stat()).size
    if (this.#bytes === 0) return false
    const last = Buffer.alloc(1)
    await file.read(last, 0, 1, this.#bytes - 1)
    return last.toString() !== '\n'
  }

  async #create(): Promise<OpenFile> {
    const file = await this.#folder.files.open(this.path, 'ax+', 0o600)
    this.#file = file
    this.#bytes = 0
    this.#isTorn = false
    this.#isFolderDue = true
    return file
  }

  /** Refuses links, which could lead to another program's file. */
  async #openFound(path: string): Promise<OpenFile | undefined> {
    const expected = await ifPresent(this.#folder.files.lstat(path))
    if (expected === undefined) return undefined
    if (expected.isFile()) {
      const file = await this.#folder.files.open(path, 'a+', 0o600)
      const found = await file.stat()
      const isSame = found.ino === expected.ino && found.dev === expected.dev
      if (isSame && found.isFile() && found.nlink === 1) return file
      await file.close()
    }
    throw new FolderRefusedError(`Cannot write "${path}": it is not a plain file of one name; move it away`)
  }

  /**
   * Appends lines in one write if the system takes it, so that no other process's line gets in between.
   *
   * @returns How many were written, and why not all.
   */
  async append(lines: readonly string[]): Promise<{ written: number; error?: unknown }> {
    const text = lines.join('')
    let start = ''
    let done = 0
    let file: OpenFile | undefined
    try {
      file = await this.#openFor(Buffer.byteLength(text))
      if (this.#isTorn) start = '\n'
      const bytes = Buffer.from(start + text)
      while (done < bytes.length) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, null)
        done += bytesWritten
        this.#bytes += bytesWritten
      }
      this.#isTorn = false
      return { written: lines.length }
    } catch (error) {
      if (file !== undefined) this.#isTorn = await this.#endsInHalfLine(file).catch(() => true)
      return { written: countWhole(lines, done - start.length), error }
    }
  }

  /** The open file, in which there is room. */
  async #openFor(bytes: number): Promise<OpenFile> {
    if (this.#file !== undefined && this.#bytes > 0 && this.#bytes + bytes > this.#rotateAbove) {
      // Too large a file is better than a lost line.
      await this.#rotate().catch((error: unknown) => {
        this.#log.error('audit_not_rotated', { reason: String(error) })
        this.#rotateAbove = this.#bytes + this.#bytesMax / ROTATIONS_TRIED
      })
    }
    await this.#leaveUnnamed()
    if (this.#file === undefined) await this.open()
    if (this.#file !== undefined) return this.#file
    return this.#create().catch(async (error: unknown) => {
      // Another process was faster.
      if (systemCode(error) === 'EEXIST') await this.open()
      return this.#file ?? Promise.reject(error)
    })
  }

  /** Closes the file if somebody has removed it, moved it away, or put another in its place. */
  async #leaveUnnamed() {
    if (this.#file === undefined) return
    const named = await ifPresent(this.#folder.files.lstat(this.path))
    const open = await this.#file.stat()
    if (named?.ino === open.ino && named.dev === open.dev) return
    if (open.nlink === 0) this.#log.error('audit_file_removed', { file: this.path })
    await this.close()
  }

  /** Makes everything that was appended durable; after a failure, in a new file. @throws the system's error. */
  async sync(): Promise<void> {
    if (this.#isUnsure) return this.#replaceByCopy()
    try {
      await this.#file?.datasync()
      if (this.#isFolderDue) await syncFolder(this.#folder.path, this.#folder.files)
      this.#isFolderDue = false
    } catch (error) {
      this.#isUnsure = true
      throw error
    }
  }

  /** After a failure, a second sync of the same file would report success although the data is lost. */
  async #replaceByCopy() {
    const old = await this.#openFound(this.path)
    const copy = await openAtomicFile(this.path, this.#folder.files)
    try {
      if (old !== undefined) await copyFrom(old, 0, copy)
      await copy.commit()
    } finally {
      await copy.abort()
      await old?.close()
    }
    await this.close()
    this.#isUnsure = false
    await this.open()
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  async #rotate() {
    // Only the end of a trail is completed after a power loss.
    await this.sync()
    await this.close()
    this.#rotateAbove = this.#bytesMax
    for (let i = auditFiles.length - 1; i > 0; i--) {
      const [from, to] = [auditFiles[i - 1], auditFiles[i]]
      if (from === undefined || to === undefined) continue
      await ifPresent(this.#folder.files.rename(this.#folder.file(from), this.#folder.file(to)))
    }
  }
}

/** How many lines fit whole into their first bytes. */
function countWhole(lines: readonly string[], bytes: number): number {
  let end = 0
  return lines.findIndex((line) => {
    end += Buffer.byteLength(line)
    return end > bytes
  })
}
