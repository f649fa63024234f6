import type { Socket } from 'node:net'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/** An answer piece by piece as the client takes it, while others have their turn. */
export async function* inTurns(
  pieces: Iterable<string>,
  turns: Turns,
  socket: Socket,
): AsyncGenerator<string> {
  await new Promise<void>(turns)
  for (const piece of pieces) {
    const taken = limitTaking(socket)
    try {
      yield piece
    } finally {
      taken()
    }
    await new Promise<void>(turns)
  }
}
