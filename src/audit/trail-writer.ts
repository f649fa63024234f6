import type { Log } from '../log.ts'
import { timestamp } from '../timestamp.ts'
import type { AuditFile } from './audit-file.ts'
import { auditLine } from './audit-line.ts'

/** Between writes of lines of changes to the audit trail: a busy server writes many at once. */
export const AUDIT_WRITE_PAUSE_MS = 10
/** After a failed write of lines that must not be lost. */
export const AUDIT_RETRY_MS = 1_000
/** Lines that wait for the audit trail; one more is counted and lost. */
export const AUDIT_WAITING_LINES_MAX = 20_000

/** A line to be written. One that must not be lost is a function, and is made again if a write fails. */
export type WaitingLine = string | (() => string)

/**
 * Lines on their way to the audit trail. Those that arrive during a write are written together after it. On a failing disk,
 * lines that must not be lost wait until it works again; others are counted, and the count is written later.
 */
export class TrailWriter {
  readonly #file: AuditFile
  readonly #log: Log
  #waiting: WaitingLine[] = []
  #lost = 0
  /** Why lines wait that must not be lost, and should have been written. */
  #obstacle: unknown
  /** Whether such a line was lost, because there was no room for it in memory: the journal has to keep its change. */
  #hasGap = false
  #isClosed = false
  #current: Promise<void> = Promise.resolve()
  /** The write that follows `#current` and takes the waiting lines. */
  #next: Promise<void> | undefined
  /** Time of the last write, by the monotonic clock. */
  #wroteMs = Number.NEGATIVE_INFINITY
  /** Writes lines of changes once the pause is over. */
  #timer: NodeJS.Timeout | undefined

  constructor(file: AuditFile, log: Log) {
    this.#file = file
    this.#log = log
  }

  /** Queues a line for the next write. @returns False if the queue is full, or the writer is closed. */
  add(line: WaitingLine): boolean {
    // A request that was cut off may end after another process has taken the folder.
    if (this.#isClosed) return false
    if (this.#waiting.length < AUDIT_WAITING_LINES_MAX) return this.#waiting.push(line) > 0
    if (this.#lost === 0) this.#warn('too many lines are waiting')
    this.#lost += 1
    this.#hasGap ||= typeof line !== 'string'
    return false
  }

  /** Adds a line that must not be lost, and for which nobody waits: it is written once the pause is over. */
  addChange(line: () => string): void {
    if (!this.add(line) || this.#next !== undefined || this.#timer !== undefined) return
    const pauseMs = this.#wroteMs + AUDIT_WRITE_PAUSE_MS - performance.now()
    if (pauseMs <= 0) void this.write()
    else this.#writeIn(pauseMs)
  }

  #writeIn(pauseMs: number) {
    this.#timer = setTimeout(() => void this.write(), pauseMs).unref()
  }

  /** Writes everything that waits. Never rejects. */
  write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#next === undefined) {
      this.#next = this.#current.then(() => this.#writeWaiting())
      this.#current = this.#next
    }
    return this.#next
  }

  async #writeWaiting() {
    const lines = this.#waiting
    this.#waiting = []
    this.#next = undefined
    this.#wroteMs = performance.now()
    const count = this.#lost
    if (count > 0) lines.unshift(auditLine(timestamp(), 'lines_lost', undefined, { count }))
    const texts = lines.map((line) => (typeof line === 'string' ? line : line()))
    const { written, error } = await this.#file.append(texts)
    const isKnown = this.#lost > 0 || this.#obstacle !== undefined
    this.#obstacle = undefined
    if (written > 0) this.#lost -= count
    if (error === undefined) return
    if (!isKnown) this.#warn(String(error))
    const left = lines.slice(Math.max(written, count > 0 ? 1 : 0))
    const kept = left.filter((line) => typeof line !== 'string')
    this.#lost += left.length - kept.length
    if (kept.length === 0) return
    this.#obstacle = error
    this.#waiting = [...kept, ...this.#waiting]
    if (this.#timer === undefined) this.#writeIn(AUDIT_RETRY_MS)
  }

  #warn(reason: string) {
    this.#log.error('audit_not_written', { file: this.#file.path, reason })
  }

  /** Resolves once the operating system has all lines added so far. @throws {Error} if one waits that must not be lost. */
  async written(): Promise<void> {
    await (this.#waiting.length > 0 ? this.write() : this.#current)
    if (this.#obstacle !== undefined) throw this.#obstacle
  }

  /** Resolves once all lines added so far are on disk. @throws {Error} if one that must not be lost is not. */
  sync(): Promise<void> {
    if (this.#waiting.length > 0) void this.write()
    const synced = this.#current.then(() => this.#syncWritten())
    // Nothing is written meanwhile: the file may be replaced.
    this.#current = synced.catch(() => {})
    return synced
  }

  async #syncWritten() {
    if (this.#obstacle !== undefined) throw this.#obstacle
    if (this.#hasGap)
      throw new Error('lines of changes were lost; the next start completes them from the journal')
    await this.#file.sync().catch((error: unknown) => {
      this.#warn(String(error))
      throw error
    })
  }

  /** Writes the waiting lines and closes the file. */
  async close(): Promise<void> {
    await this.#settle()
    this.#isClosed = true
    clearTimeout(this.#timer)
    if (this.#lost > 0 || this.#waiting.length > 0) await this.#writeWaiting()
    await this.#file.close()
  }

  /** Waits for the writes that have begun, and those that begin meanwhile. */
  async #settle() {
    for (let seen: Promise<void> | undefined; seen !== this.#current; ) {
      seen = this.#current
      await seen
    }
  }
}
