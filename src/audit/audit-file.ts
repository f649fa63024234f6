import { systemCode } from '../errors.ts'
import { giveToOwnerOf } from '../files/atomic-file.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import type { Log } from '../log.ts'

/**
 * The files of the audit trail: lines go to the end of the first, and when that has grown to `bytesMax`, each moves on
 * by one name and the last goes.
 *
 * Other processes may append at the same time. One that holds the file when it moves on writes to where it has moved.
 */
export class AuditFile {
  readonly #folder: DataPaths
  readonly #bytesMax: number
  readonly #log: Log
  readonly #files: FileSystem
  #file: OpenFile | undefined
  #bytes = 0
  /** Whether the file may end in half a line, which would swallow the one behind it. */
  #isTorn = false

  constructor(folder: DataPaths, bytesMax: number, log: Log, files: FileSystem) {
    this.#folder = folder
    this.#bytesMax = bytesMax
    this.#log = log
    this.#files = files
  }

  /** @throws the system's error when the file cannot be opened or made; also `append` then tries. */
  async open(): Promise<void> {
    const [name] = auditFiles
    const file = await this.#files.open(this.#folder.file(name), 'a+', 0o600)
    try {
      this.#bytes = (await file.stat()).size
      if (this.#bytes === 0) await giveToOwnerOf(this.#folder.path, file, this.#files)
      else {
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

  /**
   * Appends whole lines in one write, so that those of other processes never stand within.
   *
   * @throws the system's error, or an Error when the file took only a part.
   */
  async append(lines: string): Promise<void> {
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines)
    if (this.#file !== undefined && this.#bytes > 0 && this.#bytes + bytes.length > this.#bytesMax) {
      // A file that grows too large is better than a line that is lost.
      await this.#moveOn().catch((error: unknown) => {
        this.#log.error('audit_not_rotated', { reason: String(error) })
      })
    }
    if (this.#file === undefined) await this.open()
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

  async #moveOn() {
    await this.close()
    for (let i = auditFiles.length - 1; i > 0; i--) {
      const [from, to] = [auditFiles[i - 1], auditFiles[i]]
      if (from === undefined || to === undefined) continue
      await this.#files.rename(this.#folder.file(from), this.#folder.file(to)).catch((error: unknown) => {
        if (systemCode(error) !== 'ENOENT') throw error
      })
    }
  }
}
