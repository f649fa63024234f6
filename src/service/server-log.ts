import { fstatSync, write, writeSync } from 'node:fs'
import { LOG_FLUSH_MS } from '../limits.ts'
import { createLog, type Log } from '../log.ts'
import { createLineQueue } from './line-queue.ts'
import type { ServerOptions } from './server-options.ts'

const STANDARD_ERROR = 2

/** A log on standard error that holds nobody up. */
export interface ServerLog extends Log {
  /** Resolves when everything logged so far has been taken, or after LOG_FLUSH_MS. */
  flush(): Promise<void>
}

/**
 * The log of a server: its lines wait where the reader of standard error is slow, and are lost where they become too
 * many; `log_lines_dropped` tells how many, once they flow again.
 *
 * @param environment Where systemd tells that standard error is its journal; then each line begins with its priority.
 */
export function openServerLog(options: ServerOptions, environment: NodeJS.ProcessEnv): ServerLog {
  const queue = createLineQueue(
    isStream() ? sendToStream : sendToFile,
    // Not left out by any --log-level: what was lost may have been an error.
    (count) => log.error('log_lines_dropped', { count }),
  )
  const format = options.logFormat ?? (process.stderr.isTTY ? 'text' : 'json')
  const log = createLog(format, queue.write, {
    level: options.logLevel,
    hasPriorities: isJournal(environment.JOURNAL_STREAM),
  })
  // An error that nobody caught ends the process in the middle of its work. What a thread is writing to a file at that
  // moment may come to stand behind these lines.
  process.once('exit', () => writeAtOnce(queue.takeWaiting()))
  return { ...log, flush: () => queue.flush(LOG_FLUSH_MS) }
}

/** Whether standard error is the stream that `JOURNAL_STREAM` names by device and inode (systemd.exec(5)). */
function isJournal(journalStream: string | undefined): boolean {
  const { dev, ino } = fstatSync(STANDARD_ERROR, { bigint: true })
  return journalStream === `${dev}:${ino}`
}

function isStream(): boolean {
  const status = fstatSync(STANDARD_ERROR)
  return status.isFIFO() || status.isSocket()
}

/**
 * Node has made the descriptor of a pipe or a socket non-blocking, and waits for its reader by the event loop. One that
 * fails has lost its reader for good, so nobody is left to be told of what is lost.
 */
function sendToStream(lines: string, done: (unsent: number) => void) {
  process.stderr.write(lines, () => done(0))
}

/**
 * A file or a terminal blocks whoever writes, and Node would write to it on the main thread. So one of libuv's four
 * threads does; there is never more than one such write, which leaves three to the disk and to password hashes.
 */
function sendToFile(lines: string, done: (unsent: number) => void) {
  writeAll(Buffer.from(lines), done)
}

function writeAll(bytes: Buffer, done: (unsent: number) => void) {
  write(STANDARD_ERROR, bytes, (error, written) => {
    if (error !== null) done(countLines(bytes.toString()))
    else if (written < bytes.length) writeAll(bytes.subarray(written), done)
    else done(0)
  })
}

function writeAtOnce(lines: string) {
  try {
    writeSync(STANDARD_ERROR, lines)
  } catch {
    // There is nobody left to tell.
  }
}

function countLines(lines: string): number {
  return lines.split('\n').length - 1
}
