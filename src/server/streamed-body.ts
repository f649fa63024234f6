import type { ServerResponse } from 'node:http'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/** An answer piece by piece as the client takes it, while others have their turn. */
export async function* inTurns(
  pieces: Iterable<string>,
  turns: Turns,
  response: ServerResponse,
): AsyncGenerator<string> {
  const { socket } = response.req
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
  // What Node has room for is not taken yet.
  if (!response.closed) response.once('close', limitTaking(socket))
}
