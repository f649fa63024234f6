import type { IncomingMessage } from 'node:http'
import type { BodyProgress } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { BODY_BYTES_MAX, BODY_PIECES_HELD_MAX, BODY_PIECES_MAX } from '../limits.ts'

/** Read of an import before other requests have their turn. */
export const IMPORT_PIECE_BYTES = 8 * 1024
/** Measured memory of a piece of one byte that waits. */
export const UNTAKEN_PIECE_BYTES = 216
/** What a body that arrives may grow by without being counted. */
const HELD_STEP_BYTES = 1024

export type Reject = (error: unknown) => void

/** How the body of a request comes in. */
export class BodyMeter implements BodyProgress {
  #bytes = 0
  #waitedMs = 0
  #waitsSinceMs: number | undefined

  /** Bytes that have arrived. */
  get bytes(): number {
    return this.#bytes
  }

  /** How long the server has waited for the client, until now; not the time in which it was busy with what had arrived. */
  get waitedMs(): number {
    return this.#waitsSinceMs === undefined
      ? this.#waitedMs
      : this.#waitedMs + performance.now() - this.#waitsSinceMs
  }

  /** The server begins to wait for the client. */
  wait(): void {
    this.#waitsSinceMs ??= performance.now()
  }

  /** The wait is over: more has arrived, or nothing more comes. */
  arrive(bytes: number): void {
    this.#waitedMs = this.waitedMs
    this.#waitsSinceMs = undefined
    this.#bytes += bytes
  }
}

/**
 * Counts the pieces of a body in chunks that nobody takes yet. Node counts their bytes alone, and reads 65,536 chunks of one
 * byte each. With more than BODY_PIECES_MAX the connection is closed.
 *
 * @param hold Counts memory until the function returned is called.
 */
export function countUntakenPieces(incoming: IncomingMessage, hold: (bytes: number) => () => void): void {
  const push = incoming.push
  let pieces = 0
  let release: (() => void) | undefined
  const free = () => {
    release?.()
    release = undefined
  }
  incoming.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (incoming.readableFlowing === null && piece !== null) {
      pieces += 1
      if (pieces > BODY_PIECES_MAX) {
        // No answer: the parser skips the rest of what it has read only once the socket is gone.
        incoming.destroy()
        return false
      }
      if (pieces % BODY_PIECES_HELD_MAX === 0) {
        free()
        release = hold(pieces * UNTAKEN_PIECE_BYTES)
      }
    }
    return push.call(incoming, piece, encoding)
  }
  // Once somebody takes them, all of them are taken at once.
  incoming.once('resume', free)
  incoming.once('close', free)
}

/**
 * Reads a body as a whole, of BODY_BYTES_MAX at most.
 *
 * @param hold Counts memory until the function returned is called.
 */
export function readWhole(
  incoming: IncomingMessage,
  hold: (bytes: number) => () => void,
  resolve: (body: Buffer) => void,
  reject: Reject,
): void {
  const length = Number(incoming.headers['content-length'])
  let release: (() => void) | undefined
  let chunks: Buffer[] = []
  let bytes = 0
  let held = 0
  let pieces = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    pieces += 1
    if (bytes <= BODY_BYTES_MAX && pieces <= BODY_PIECES_MAX) {
      // Many one-byte chunks would take hundreds of times their length in memory.
      if (chunks.length === BODY_PIECES_HELD_MAX) chunks = [Buffer.concat(chunks)]
      chunks.push(chunk)
      // Most bodies come in one piece.
      if (bytes === length) return
      // Not for each of many small pieces.
      if (pieces > BODY_PIECES_HELD_MAX && bytes - held < HELD_STEP_BYTES) return
      if (release === undefined) incoming.once('close', () => release?.())
      release?.()
      held = bytes
      release = hold(bytes)
      return
    }
    incoming.off('data', onData)
    if (bytes > BODY_BYTES_MAX) return reject(tooLarge(BODY_BYTES_MAX))
    reject(new Problem('body_too_large', `The body comes in more than ${BODY_PIECES_MAX} pieces`))
    // No answer: the parser skips the rest of what it has read only once the socket is gone.
    incoming.destroy()
  }
  incoming.on('data', onData)
  incoming.once('end', () => {
    release?.()
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  })
  incoming.once('error', () => reject(incompleteBody()))
}

/**
 * Reads a body piece by piece, and pauses the socket while a chunk is handled.
 *
 * @param take What it throws ends the reading.
 * @param takeTurn Runs the work when other requests have had their turn.
 */
export function readByPieces(
  incoming: IncomingMessage,
  bytesMax: number,
  take: (piece: Buffer) => void,
  progress: BodyMeter,
  takeTurn: (work: () => void) => Promise<void>,
  resolve: () => void,
  reject: Reject,
): void {
  let isTaking = false
  // `end` may come before the last piece has had its turn.
  let hasEnded = false
  let isOver = false
  const onData = (chunk: Buffer) => {
    progress.arrive(chunk.length)
    isTaking = true
    incoming.pause()
    takeFrom(chunk, 0)
  }
  const takeFrom = (chunk: Buffer, start: number) => {
    void takeTurn(() => {
      // The client has gone.
      if (isOver) return
      const end = start + IMPORT_PIECE_BYTES
      try {
        if (progress.bytes > bytesMax) throw tooLarge(bytesMax)
        take(chunk.subarray(start, end))
        if (end < chunk.length) return takeFrom(chunk, end)
      } catch (error) {
        incoming.off('data', onData)
        reject(error)
      }
      isTaking = false
      if (hasEnded) resolve()
      else progress.wait()
      incoming.resume()
    })
  }
  progress.wait()
  incoming.on('data', onData)
  incoming.once('end', () => {
    hasEnded = true
    progress.arrive(0)
    if (!isTaking) resolve()
  })
  incoming.once('error', () => {
    isOver = true
    reject(incompleteBody())
  })
}

export function tooLarge(bytesMax: number): Problem {
  return new Problem('body_too_large', `The body is longer than ${bytesMax} bytes; send less at once`)
}

/** Never sent: the connection ended before the body did. */
export function incompleteBody(): Problem {
  return new Problem('incomplete_body', 'The body ended before its time')
}
