import { fstatSync, write, writeSync } from 'node:fs'
import { LOG_FLUSH_MS } from '../limits.ts'
import { createLog, type Log } from '../log.ts'
import { isSystemdJournal } from '../systemd-journal.ts'
import { createLineQueue } from './line-queue.ts'
import type { ServerOptions } from './server-options.ts'

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
