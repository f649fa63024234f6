import { fstatSync, write, writeSync } from 'node:fs'
import { createLog, type Log } from '../log.ts'
import { isSystemdJournal } from '../systemd-journal.ts'
import type { ServerOptions } from './server-options.ts'

/** Log lines that nobody has read yet; further ones are counted and lost. */
export const LOG_BYTES_WAITING_MAX = 1024 * 1024
/** How long a server that stops waits for its log to be read. */
export const LOG_FLUSH_MS = 1_000

const STANDARD_ERROR = 2

/** A log on standard error that blocks nobody. */
export interface ServerLog extends Log {
  /** Resolves when everything logged so far has been written, or after LOG_FLUSH_MS. */
  flush(): Promise<void>
}

/**
 * Opens the log of a server. Lines wait for a slow reader; if too many wait, further ones are lost, and a later line
 * `log_lines_dropped` counts them.
 *
 * @param environment If its JOURNAL_STREAM is standard error, each line begins with a priority for systemd's journal.
 */
export function openServerLog(options: ServerOptions, environment: NodeJS.ProcessEnv): ServerLog {
  const status = fstatSync(STANDARD_ERROR)
  const queue = createLineQueue(
    status.isFIFO() || status.isSocket() ? sendToStream : sendToFile,
    // No --log-level leaves an error out, and lost lines may have been errors.
    (count) => log.error('log_lines_dropped', { count }),
  )
  const format = options.logFormat ?? (process.stderr.isTTY ? 'text' : 'json')
  const log = createLog(format, queue.write, {
    level: options.logLevel,
    hasPriorities: isSystemdJournal(environment),
  })
  // For an uncaught error. What a thread is still writing to a file may come after these lines.
  process.once('exit', () => writeAtOnce(queue.takeWaiting()))
  return { ...log, flush: () => queue.flush(LOG_FLUSH_MS) }
}

/** Node writes to a pipe or a socket without blocking. After a failure the reader is gone: no loss to report. */
function sendToStream(lines: string, done: (unsent: number) => void) {
  process.stderr.write(lines, () => done(0))
}

/**
 * Node would block the main thread to write to a file or a terminal. This blocks one of libuv's four threads at most,
 * which leaves three to the disk and to password hashes.
 */
function sendToFile(lines: string, done: (unsent: number) => void) {
  writeAll(Buffer.from(lines), done)
}

function writeAll(bytes: Buffer, done: (unsent: number) => void) {
  write(STANDARD_ERROR, bytes, (error, written) => {
    if (error !== null) done(bytes.toString().split('\n').length - 1)
    else if (written < bytes.length) writeAll(bytes.subarray(written), done)
    else done(0)
  })
}

function writeAtOnce(lines: string) {
  try {
    writeSync(STANDARD_ERROR, lines)
  } catch {
    // Nowhere is left to report it.
  }
}

/** Sends lines, newlines included; later calls `done` once with the number of lines that could not be sent. */
type Send = (lines: string, done: (unsent: number) => void) => void

/** Lines on their way to a reader that may be slow or gone; a writer never waits. */
interface LineQueue {
  /** Adds a line, newline included, or counts it as lost if too many wait. */
  write(line: string): void
  /** Resolves when all lines have been sent; after `timeoutMs`, drops those that still wait. */
  flush(timeoutMs: number): Promise<void>
  /** Removes and returns the lines that still wait. */
  takeWaiting(): string
}

/**
 * Sends one batch of lines at a time; those that come meanwhile make the next batch.
 *
 * @param reportLost Called when sending works again after `count` lines were lost; may write a line in their place.
 * @param bytesMax Most bytes of lines that wait, besides the batch being sent.
 */
export function createLineQueue(
  send: Send,
  reportLost: (count: number) => void,
  bytesMax = LOG_BYTES_WAITING_MAX,
): LineQueue {
  let waiting = ''
  let waitingBytes = 0
  let isSending = false
  /** Set when a line does not fit; later ones are lost, too, so that there is one gap. */
  let isFull = false
  let lost = 0
  const onEmpty = new Set<() => void>()

  function takeWaiting(): string {
    const lines = waiting
    waiting = ''
    waitingBytes = 0
    return lines
  }

  function sendWaiting() {
    isSending = true
    send(takeWaiting(), (unsent) => {
      isSending = false
      isFull = false
      lost += unsent
      if (waiting !== '') sendWaiting()
      if (unsent === 0 && lost > 0) {
        const count = lost
        lost = 0
        reportLost(count)
      }
      if (!isSending) for (const resolve of onEmpty) resolve()
    })
  }

  return {
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (isFull || waitingBytes + bytes > bytesMax) {
        isFull = true
        lost += 1
        return
      }
      waiting += line
      waitingBytes += bytes
      if (!isSending) sendWaiting()
    },
    async flush(timeoutMs) {
      if (!isSending) return
      const { promise, resolve } = Promise.withResolvers<void>()
      onEmpty.add(resolve)
      const timer = setTimeout(() => {
        takeWaiting()
        resolve()
      }, timeoutMs)
      await promise
      clearTimeout(timer)
      onEmpty.delete(resolve)
    },
    takeWaiting,
  }
}
