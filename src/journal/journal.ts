import { dirname } from 'node:path'
import { describeNoRoom, isNoRoom, StorageFullError, StorageUnavailableError, systemCode } from '../errors.ts'
import { syncFolder, writeAll } from '../files/atomic-file.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import { Counter, Histogram } from '../metrics/family.ts'
import { bytesOf, checkFrameSize, encodePieces } from './frame.ts'
import { type JournalPosition, putNextFile } from './journal-file.ts'
import { recoverPatiently } from './recovery-loop.ts'

const SYNC_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
]

/** Changes that become durable as one frame. */
export interface Entry {
  /** A JSON array of the changes, in pieces. */
  readonly json: readonly Buffer[]
  /** How many changes. */
  readonly count: number
  /** Called in the tick in which the frame is written. What it throws refuses the changes. */
  readonly check?: (() => void) | undefined
  /** Applies them once they are durable; nothing else is written until it is done. @param revision Of the first. */
  apply(revision: number): void | Promise<void>
}

/** An append-only file of changes. One frame, or one new file, is written at a time; a frame is applied before the next. */
export class Journal {
  readonly path: string
  readonly store: string
  /** Counted since the journal was opened; `syncSeconds` is the time of the `fdatasync` of each frame. */
  readonly activity = {
    frames: new Counter(),
    changes: new Counter(),
    syncSeconds: new Histogram(SYNC_BOUNDS),
  }
  readonly #recoverState: () => Promise<void>
  readonly #log: Log
  readonly #files: FileSystem
  #position: JournalPosition
  /** Settles when what is being written is done; never rejects. */
  #writing: Promise<void> | undefined
  #recovery: Promise<void> | undefined
  #isFailed = false
  /** Whether the last change was refused; only the first refusal in a row is logged. */
  #isRefusing = false
  readonly #closing = new AbortController()

  /** @param recover Writes the whole state to new files, with `restart`. Called after the disk failed, until it succeeds. */
  constructor(
    path: string,
    store: string,
    position: JournalPosition,
    recover: () => Promise<void>,
    log: Log,
    files: FileSystem,
  ) {
    this.path = path
    this.store = store
    this.#position = position
    this.#recoverState = recover
    this.#log = log
    this.#files = files
  }

  /** Revision of the last durable change. */
  get revision(): number {
    return this.#position.revision
  }

  /** Bytes of the file. */
  get size(): number {
    return this.#position.size
  }

  /** Form of the changes in the file. */
  get version(): number {
    return this.#position.version
  }

  /** Settles when nothing is being written; undefined if nothing is. */
  get writing(): Promise<void> | undefined {
    return this.#writing
  }

  /** False from a failed `fdatasync` until `recover` has succeeded. */
  get isWritable(): boolean {
    return !this.#isFailed && !this.#closing.signal.aborted
  }

  /**
   * Resolves once the changes are durable and applied.
   *
   * @throws {TooManyChangesError} if the frame would exceed LINE_BYTES_MAX.
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the disk fails, or failed before. Also what `check` throws.
   */
  async append(entry: Entry): Promise<void> {
    checkFrameSize(bytesOf(entry.json))
    if (!this.isWritable) throw unavailable()
    return this.#alone(() => this.#append(entry))
  }

  /**
   * Switches to a new file.
   *
   * @param version Form of the changes in the new file.
   * @param changes Called then; the new file begins with these changes, which get new revisions and are not applied.
   * @param keepAs New path of the old file; without it the old file is replaced.
   * @throws the system's error; then the old file is still in use.
   */
  restart(version: number, changes: () => readonly unknown[] = () => [], keepAs?: string): Promise<void> {
    return this.#alone(() => this.#startNewFile(version, changes(), keepAs))
  }

  /** Finishes what is being written, refuses new changes, and closes the file. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    await this.#recovery
    while (this.#writing !== undefined) await this.#writing
    await this.#position.file.close()
  }

  /** Does what must not run beside anything else of this kind. */
  async #alone(write: () => Promise<void>): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#writing = promise
    try {
      await write()
    } finally {
      this.#writing = undefined
      resolve()
    }
  }

  async #append({ json, count, check, apply }: Entry) {
    if (this.#isFailed) throw unavailable()
    const { crc, revision } = this.#position
    const frame = await encodePieces(crc, revision + 1, json)
    // The encoding may have taken long.
    check?.()
    await this.#commit(frame.pieces, frame.crc, count)
    try {
      await apply(revision + 1)
    } catch (error) {
      // The state is not that of the disk any more: the process must end before it shows or writes any of it.
      process.nextTick(() => {
        throw error
      })
      throw error
    }
  }

  /** Makes a frame durable. */
  async #commit(frame: readonly Buffer[], crc: number, changes: number) {
    const { file, size, revision } = this.#position
    let end = size
    try {
      for (const piece of frame) {
        await writeAll(file, piece, end)
        end += piece.length
      }
    } catch (error) {
      const isFull = isNoRoom(systemCode(error)) && (await this.#cutBack())
      throw isFull ? this.#refusal(full(error)) : this.#failure(error)
    }
    const syncBeganMs = performance.now()
    try {
      await file.datasync()
    } catch (error) {
      // Never retried: the kernel may have dropped the pages, and a second call would report success. The refused frame
      // is cut off so that no replay finds it.
      await this.#cutBack()
      throw this.#failure(error)
    }
    this.activity.syncSeconds.observe((performance.now() - syncBeganMs) / 1000)
    this.activity.frames.increment()
    this.activity.changes.increment(changes)
    this.#position = { ...this.#position, size: end, crc, revision: revision + changes }
    if (this.#isRefusing) this.#log.info('changes_accepted_again', { file: this.path })
    this.#isRefusing = false
  }

  async #cutBack(): Promise<boolean> {
    try {
      await this.#position.file.truncate(this.#position.size)
      return true
    } catch (error) {
      this.#log.error('journal_not_truncated', { file: this.path, reason: String(error) })
      return false
    }
  }

  #refusal<Refusal extends Error>(error: Refusal): Refusal {
    if (!this.#isRefusing)
      this.#log.error('changes_refused', { file: this.path, reason: String(error.cause) })
    this.#isRefusing = true
    return error
  }

  #failure(cause: unknown): StorageUnavailableError {
    this.#isFailed = true
    this.#recovery ??= this.#recover().finally(() => {
      this.#recovery = undefined
    })
    return this.#refusal(unavailable(cause))
  }

  async #recover() {
    const { signal } = this.#closing
    if (!(await recoverPatiently(this.#recoverState, this.path, this.#log, signal))) return
    this.#isFailed = false
    this.#isRefusing = false
    this.#log.info('storage_recovered', { file: this.path })
  }

  async #startNewFile(version: number, changes: readonly unknown[], keepAs: string | undefined) {
    const { file: oldFile, revision: after } = this.#position
    const header = { store: this.store, after, version }
    const fail = (error: unknown) => void this.#failure(error)
    this.#position = await putNextFile(this.path, header, changes, keepAs, this.#files, fail)
    try {
      await oldFile.close()
      await syncFolder(dirname(this.path), this.#files)
    } catch (error) {
      // A power loss could now bring back either file.
      fail(error)
      throw error
    }
  }
}

/** What a change is refused with that began a new file, or was to be written, where the system had no room. */
export function full(cause: unknown): StorageFullError {
  const what = describeNoRoom(systemCode(cause))
  const message = `Cannot store the change: ${what}; try again when there is`
  return new StorageFullError(message, { cause })
}

export function unavailable(cause?: unknown): StorageUnavailableError {
  const message = 'Cannot store the change: the disk failed, and it is not yet sure again'
  return new StorageUnavailableError(message, { cause })
}
