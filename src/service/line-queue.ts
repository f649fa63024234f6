import { LOG_BYTES_WAITING_MAX } from '../limits.ts'

/**
 * Sends lines, newlines included, to where they belong.
 *
 * @param done Called once, later, with the number of lines that could not be sent.
 */
export type Send = (lines: string, done: (unsent: number) => void) => void

/** Lines on their way to somebody who may be slow, or gone; whoever writes one never waits. */
export interface LineQueue {
  /** Takes one line, newline included, or counts it as lost when too many wait. */
  write(line: string): void
  /** Resolves when all lines have been sent; after `timeoutMs` it gives those up that still wait. */
  flush(timeoutMs: number): Promise<void>
  /** Gives what has not been begun to be sent, and forgets it. */
  takeWaiting(): string
}

/**
 * Keeps order: one lot is being sent at a time, and what comes meanwhile makes the next one.
 *
 * @param tellLost Called when lines flow again after `count` were lost; may write a line, which then stands in their place.
 * @param bytesMax Of the lines that wait, besides those that are being sent.
 */
export function createLineQueue(
  send: Send,
  tellLost: (count: number) => void,
  bytesMax = LOG_BYTES_WAITING_MAX,
): LineQueue {
  let waiting = ''
  let waitingBytes = 0
  let isSending = false
  /** Once one does not fit, neither does what follows, so that what is lost is in one place. */
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
        tellLost(count)
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
