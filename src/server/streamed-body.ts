import type { Socket } from 'node:net'
import { SOCKET_TIMEOUT_MS } from '../limits.ts'
import type { Turns } from './turns.ts'

/**
 * An answer piece by piece as the client takes it, while others have their turn. Node's own time-out begins anew with
 * whatever the client sends.
 */
export async function* inTurns(
  pieces: Iterable<string>,
  turns: Turns,
  socket: Socket,
): AsyncGenerator<string> {
  await new Promise<void>(turns)
  for (const piece of pieces) {
    const timer = setTimeout(() => socket.destroy(), SOCKET_TIMEOUT_MS)
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
    await new Promise<void>(turns)
  }
}
