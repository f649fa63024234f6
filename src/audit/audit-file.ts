import { FolderRefusedError, ifPresent, systemCode } from '../errors.ts'
import { giveToOwnerOf } from '../files/atomic-file.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { OpenFile } from '../files/file-system.ts'
import type { Log } from '../log.ts'

/**
 * The files of the audit trail. Lines are appended to the first. Before it exceeds `bytesMax`, each file gets the name
 * of the next, and the last is lost.
 *
 * Other processes may append at the same time; one that has the file open then goes on in the renamed file.
 */
export class AuditFile {
  readonly #folder: DataPaths
  readonly #bytesMax: number
  readonly #log: Log
  #file: OpenFile | undefined
  #bytes = 0
  /** Whether the file may end in half a line, which needs a newline before the next one. */
  #isTorn = false

  constructor(folder: DataPaths, bytesMax: number, log: Log) {
    this.#folder = folder
    this.#bytesMax = bytesMax
    this.#log = log
  }

  /**
   * Opens the file if it is there; otherwise `append` creates it.
   *
   * @throws {FolderRefusedError} Also the system's error if it cannot be opened; `append` then tries again.
   */
  async open(): Promise<void> {
    const file = await this.#openFound(this.#folder.file(auditFiles[0]))
    if (file === undefined) return
    try {
      this.#bytes = (await file.stat()).size
      if (this.#bytes > 0) {
        const last = Buffer.alloc(1)
        await file.read(last, 0, 1, this.#bytes - 1)
        this.#isTorn = last.toString() !== '\n'
      }
    } catch (error) {
      await file.close()
      throw error
    }
    this.#file = file
  }

  /** Gives the file to the owner of the folder, but only one that it has created. */
  async #create() {
    let file: OpenFile
    try {
      file = await this.#folder.files.open(this.#folder.file(auditFiles[0]), 'ax+', 0o600)
    } catch (error) {
      // Another process was faster.
      if (systemCode(error) === 'EEXIST') return this.open()
      throw error
    }
    this.#file = file
    this.#bytes = 0
    this.#isTorn = false
    await giveToOwnerOf(this.#folder.path, file, this.#folder.files)
  }

  /** Refuses links: with one, the owner of the folder could make root write to another file. */
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
   * Appends whole lines in one write, so that no other process's line gets in between.
   *
   * @throws the system's error, or an Error if only a part was written.
   */
  async append(lines: string): Promise<void> {
    const size = this.#bytes + Buffer.byteLength(lines)
    if (this.#file !== undefined && this.#bytes > 0 && size > this.#bytesMax) {
      // Too large a file is better than a lost line.
      await this.#rotate().catch((error: unknown) => {
        this.#log.error('audit_not_rotated', { reason: String(error) })
      })
    }
    if (this.#file === undefined) await this.open()
    if (this.#file === undefined) await this.#create()
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines)
    const { bytesWritten = 0 } = (await this.#file?.write(bytes, 0, bytes.length, null)) ?? {}
    this.#bytes += bytesWritten
    this.#isTorn = bytesWritten < bytes.length
    if (this.#isTorn) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes were written`)
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  async #rotate() {
    await this.close()
    for (let i = auditFiles.length - 1; i > 0; i--) {
      const [from, to] = [auditFiles[i - 1], auditFiles[i]]
      if (from === undefined || to === undefined) continue
      await ifPresent(this.#folder.files.rename(this.#folder.file(from), this.#folder.file(to)))
    }
  }
}
