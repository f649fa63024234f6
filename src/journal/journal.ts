import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  describeNoRoom,
  isNoRoom,
  OvertakenError,
  StorageFullError,
  StorageUnavailableError,
  systemCode,
} from '../errors.ts'
import { syncFolder, writeAll } from '../files/atomic-file.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import { Counter, Histogram } from '../metrics/family.ts'
import { type Append, AppendQueue, type LargeChange } from './append-queue.ts'
import { bytesOf, checkFrameSize, encodeFrame, encodeLongFrame } from './frame.ts'
import { type JournalPosition, putNextFile } from './journal-file.ts'
import type { JournalOwner } from './journal-owner.ts'
import { recoverPatiently } from './recovery-loop.ts'

/** How long a frame of separate changes is applied before others have their turn. */
const FRAME_TURN_MS = 5

/** How many changes of a frame are applied before the clock is read again. */
const CLOCK_CHANGES = 32

const PREPARATIONS_MAX = 3

const SYNC_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
]

/**
 * An append-only file of changes with group commit: the changes that arrive during one `fdatasync` share the next.
 *
 * One frame is in flight at a time. A change is applied, and its promise resolved, only after its `fdatasync`; the next
 * frame begins once all changes of this one are applied.
 */
export class Journal<Change> {
  readonly path: string
  readonly store: string
  /** Counted since the journal was opened; `syncSeconds` is the time of the `fdatasync` of each frame. */
  readonly activity = {
    frames: new Counter(),
    changes: new Counter(),
    syncSeconds: new Histogram(SYNC_BOUNDS),
  }
  readonly #owner: JournalOwner<Change>
  readonly #log: Log
  readonly #files: FileSystem
  #position: JournalPosition
  readonly #queue = new AppendQueue<Change>()
  readonly #restarts: (() => Promise<void>)[] = []
  #running: Promise<void> | undefined
  #recovery: Promise<void> | undefined
  #isFailed = false
  /** Whether the last change was refused; only the first refusal in a row is logged. */
  #isRefusing = false
  readonly #closing = new AbortController()

  constructor(
    path: string,
    store: string,
    position: JournalPosition,
    owner: JournalOwner<Change>,
    log: Log,
    files: FileSystem,
  ) {
    this.path = path
    this.store = store
    this.#position = position
    this.#owner = owner
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

  /** False from a failed `fdatasync` until `recover` has succeeded. */
  get isWritable(): boolean {
    return !this.#isFailed && !this.#closing.signal.aborted
  }

  /**
   * Resolves once the change is durable and applied. Rejects with StorageFullError if there is no room (a later call
   * may succeed), and with StorageUnavailableError if the disk fails.
   *
   * @param check Called when its turn has come, just before its frame is made, perhaps more than once. The promise rejects
   *   with what it throws, and those of all changes behind it with {OvertakenError}: they may have been decided for it.
   * @throws {StorageUnavailableError} at once if the disk failed before.
   * @throws {OverloadedError} at once if WAITING_CHANGES_MAX changes are waiting.
   */
  append(change: Change, check?: () => void): Promise<void> {
    return this.#enqueue([change], { check })
  }

  /**
   * Appends changes, all or none, as one frame.
   *
   * @param changes At least one.
   * @param check As for `append`.
   * @throws {TooManyChangesError} at once if the frame would exceed LINE_BYTES_MAX. Also as `append` does.
   */
  appendTogether(changes: readonly Change[], check?: () => void): Promise<void> {
    const json = this.#owner.encode(changes)
    checkFrameSize(Buffer.byteLength(json))
    return this.#enqueue(changes, { json, check })
  }

  /**
   * Appends a large change, as one frame. Resolves once it is durable and applied.
   *
   * @throws as `appendTogether` does.
   */
  appendLarge(large: LargeChange, check?: () => void): Promise<void> {
    checkFrameSize(bytesOf(large.json))
    return this.#enqueue([], { large, check })
  }

  #enqueue(
    changes: readonly Change[],
    { json, large, check }: Partial<Pick<Append<Change>, 'json' | 'large' | 'check'>>,
  ): Promise<void> {
    if (!this.isWritable) throw unavailable()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#queue.add({ changes, json, large, check, resolve, reject })
    this.#running ??= this.#work()
    return promise
  }

  /**
   * Switches to a new file, between two frames.
   *
   * @param changes Called then; the new file begins with these changes, which get new revisions and are not applied.
   * @param keepAs New path of the old file; without it the old file is replaced.
   * @throws the system's error; then the old file is still in use.
   */
  restart(changes: () => readonly Change[], keepAs?: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#restarts.push(() => this.#startNewFile(changes, keepAs).then(resolve, reject))
    this.#running ??= this.#work()
    return promise
  }

  /** Finishes the appends and restarts in progress, refuses new appends, and closes the file. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    await this.#recovery
    await this.#running
    await this.#position.file.close()
  }

  async #work() {
    // So that all requests of this turn of the event loop share the first frame.
    await nextTurn()
    for (;;) {
      // Before anything is looked at: more changes may come meanwhile.
      if (!this.#queue.isEmpty) await this.#prepare()
      const restart = this.#restarts.shift()
      if (restart !== undefined) await restart()
      else if (this.#queue.isEmpty) break
      else if (this.#position.version !== this.#owner.version) await this.#renew()
      else await this.#commitNext()
    }
    // No await since the queue was found empty, so the next append starts a new run.
    this.#running = undefined
  }

  /** Has what the checks ask brought up to date. It may change again meanwhile, but not for ever. */
  async #prepare() {
    for (let tries = 0; tries < PREPARATIONS_MAX; tries += 1) {
      const preparing = this.#owner.beforeFrame?.()
      if (preparing === undefined) return
      await preparing
    }
  }

  async #commitNext() {
    const { first } = this.#queue
    const refusal = this.#queue.refusalOfFirst()
    if (refusal !== undefined) this.#refuseFirst(refusal)
    else if (first?.large !== undefined) await this.#commitLarge(first.large)
    else await this.#commitTogether(this.#queue.takeFrame())
  }

  /** Refuses the first waiting append by its `check`, and has those behind it decided again. */
  #refuseFirst(refusal: Error) {
    const [first, ...others] = this.#queue.takeAll()
    this.#owner.refuse()
    first?.reject(refusal)
    for (const { reject } of others) reject(new OvertakenError())
  }

  async #commitTogether(batch: Append<Change>[]) {
    const { crc, revision } = this.#position
    const changes = batch.length === 1 ? (batch[0]?.changes ?? []) : batch.flatMap(({ changes }) => changes)
    const json = batch[0]?.json ?? this.#owner.encode(changes)
    const frame = encodeFrame(crc, revision + 1, json)
    if (!(await this.#commit(batch, [frame.bytes], frame.crc, changes.length))) return
    let applied = revision
    let turnEnd = performance.now() + FRAME_TURN_MS
    for (const { changes, resolve } of batch) {
      for (const change of changes) this.#owner.apply(change, ++applied)
      resolve()
      if (applied % CLOCK_CHANGES > 0 || performance.now() < turnEnd) continue
      await nextTurn()
      turnEnd = performance.now() + FRAME_TURN_MS
    }
  }

  async #commitLarge({ count, json, apply }: LargeChange) {
    const { crc, revision } = this.#position
    const frame = await encodeLongFrame(crc, revision + 1, json)
    // The encoding may have taken long.
    await this.#prepare()
    const refusal = this.#queue.refusalOfFirst()
    if (refusal !== undefined) return this.#refuseFirst(refusal)
    const batch = this.#queue.takeFirst()
    if (!(await this.#commit(batch, frame.pieces, frame.crc, count))) return
    await apply(revision + 1)
    for (const { resolve } of batch) resolve()
  }

  /** Makes a frame durable, or refuses the batch. @returns Whether it is durable. */
  async #commit(
    batch: Append<Change>[],
    frame: readonly Buffer[],
    crc: number,
    changes: number,
  ): Promise<boolean> {
    const { file, size, revision } = this.#position
    let end = size
    try {
      for (const piece of frame) {
        await writeAll(file, piece, end)
        end += piece.length
      }
    } catch (error) {
      const isFull = isNoRoom(systemCode(error)) && (await this.#cutBack())
      if (isFull) this.#refuse(batch, full(error))
      else this.#fail(batch, error)
      return false
    }
    const syncBeganMs = performance.now()
    try {
      await file.datasync()
    } catch (error) {
      // Never retried: the kernel may have dropped the pages, and a second call would report success. The refused frame
      // is cut off so that no replay finds it.
      await this.#cutBack()
      this.#fail(batch, error)
      return false
    }
    this.activity.syncSeconds.observe((performance.now() - syncBeganMs) / 1000)
    this.activity.frames.increment()
    this.activity.changes.increment(changes)
    this.#position = { ...this.#position, size: end, crc, revision: revision + changes }
    if (this.#isRefusing) this.#log.info('changes_accepted_again', { file: this.path })
    this.#isRefusing = false
    return true
  }

  /** Begins a file of the form that the waiting changes have, or refuses them. */
  async #renew() {
    try {
      await this.#owner.renew((keepAs) => this.#startNewFile(() => [], keepAs))
    } catch (error) {
      this.#refuse([], isNoRoom(systemCode(error)) ? full(error) : unavailable(error))
    }
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

  /** Also refuses the waiting changes: they were checked against the ones that fail now. */
  #refuse(batch: Append<Change>[], error: Error) {
    const refused = [...batch, ...this.#queue.takeAll()]
    if (!this.#isRefusing)
      this.#log.error('changes_refused', { file: this.path, reason: String(error.cause) })
    this.#isRefusing = true
    this.#owner.refuse()
    for (const waiting of refused) waiting.reject(error)
  }

  #fail(batch: Append<Change>[], error: unknown) {
    this.#isFailed = true
    this.#refuse(batch, unavailable(error))
    this.#recovery ??= this.#recover().finally(() => {
      this.#recovery = undefined
    })
  }

  async #recover() {
    const { signal } = this.#closing
    if (!(await recoverPatiently(() => this.#owner.recover(), this.path, this.#log, signal))) return
    this.#isFailed = false
    this.#isRefusing = false
    this.#log.info('storage_recovered', { file: this.path })
  }

  async #startNewFile(changes: () => readonly Change[], keepAs: string | undefined) {
    const { file: oldFile, revision: after } = this.#position
    const header = { store: this.store, after, version: this.#owner.version }
    const fail = (error: unknown) => this.#fail([], error)
    this.#position = await putNextFile(this.path, header, changes(), keepAs, this.#files, fail)
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

function full(cause: unknown): StorageFullError {
  const what = describeNoRoom(systemCode(cause))
  const message = `Cannot store the change: ${what}; try again when there is`
  return new StorageFullError(message, { cause })
}

function unavailable(cause?: unknown): StorageUnavailableError {
  const message = 'Cannot store the change: the disk failed, and it is not yet sure again'
  return new StorageUnavailableError(message, { cause })
}
