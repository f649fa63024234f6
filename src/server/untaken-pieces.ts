import type { IncomingMessage } from 'node:http'
import { BODY_PIECES_HELD_MAX, BODY_PIECES_MAX } from '../limits.ts'

/** Measured memory of a piece of one byte that waits. */
export const UNTAKEN_PIECE_BYTES = 216

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
