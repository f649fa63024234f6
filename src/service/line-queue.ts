import { LOG_BYTES_WAITING_MAX } from '../limits.ts'

/** Sends lines, newlines included; later calls `done` once with the number of lines that could not be sent. */
export type Send = (lines: string, done: (unsent: number) => void) => void

/** Lines on their way to a reader that may be slow or gone; a writer never waits. */
export interface LineQueue {
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
 * @param bytesMax Of the lines that wait, besides the batch being sent.
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
