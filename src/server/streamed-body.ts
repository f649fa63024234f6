import type { ServerResponse } from 'node:http'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/**
 * Sends a body piece by piece as the client takes it, while others have their turn.
 *
 * When the client goes, the iterator's `return` is called at once, even while a piece is awaited.
 *
 * @returns What resolves when all of it has gone out, or the client has gone.
 * @throws What the iterator throws. The connection is cut then, so that nobody takes a part for the whole.
 */
export async function sendPieces(
  pieces: Iterable<string> | AsyncIterable<string>,
  response: ServerResponse,
  turns: Turns,
): Promise<void> {
  let iterator: Iterator<string> | AsyncIterator<string> | undefined
  let stopped: Promise<unknown> | undefined
  const stop = () => {
    stopped ??= Promise.try(() => iterator?.return?.())
    // Whether it failed is looked at below; until then a failure must not end the process.
    stopped.catch(() => {})
  }
  response.once('close', stop)
  try {
    iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
    await new Promise<void>(turns)
    while (!response.closed) {
      const next = await iterator.next()
      if (next.done) {
        response.off('close', stop)
        response.end()
        return await taken(response, 'close')
      }
      if (!response.write(next.value)) await taken(response, 'drain')
      await new Promise<void>(turns)
    }
    stop()
    await stopped
  } catch (error) {
    response.off('close', stop)
    cut(response)
    throw error
  }
}

/** Resolves when the client has taken what was written, or has gone; one that takes too long is cut off. */
function taken(response: ServerResponse, event: 'drain' | 'close'): Promise<void> {
  if (response.closed) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const endLimit = limitTaking(response.req.socket)
  const goOn = () => {
    endLimit()
    response.off(event, goOn)
    response.off('close', goOn)
    resolve()
  }
  response.on(event, goOn)
  response.on('close', goOn)
  return promise
}

/** HTTP/1.0 takes the end of a connection for a good end, so it needs a reset, which TLS and Unix sockets do not have. */
function cut({ req: { socket }, useChunkedEncodingByDefault }: ServerResponse) {
  const hasReset = socket.remoteAddress !== undefined && !('encrypted' in socket)
  if (useChunkedEncodingByDefault || !hasReset) socket.destroy()
  else socket.resetAndDestroy()
}
