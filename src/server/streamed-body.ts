import type { ServerResponse } from 'node:http'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/**
 * Sends a body piece by piece, as fast as the client reads it, one piece a turn. Resolves when everything has been
 * sent, or the client has disconnected. A disconnect calls the iterator's `return`, even while a piece is awaited.
 *
 * @throws What the iterator throws, after cutting the connection: a part must not pass for the whole body.
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
    // Awaited below; until then a failure must not end the process as an unhandled rejection.
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

/** Resolves when the client has read what was written, or has disconnected; one that is too slow is cut off. */
async function taken(response: ServerResponse, event: 'drain' | 'close'): Promise<void> {
  if (response.closed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const endLimit = limitTaking(response.req.socket)
  response.on(event, resolve).on('close', resolve)
  await promise
  response.off(event, resolve).off('close', resolve)
  endLimit()
}

/** An HTTP/1.0 client takes a close for the end of the body, so it gets a reset; TLS and Unix sockets have none. */
function cut({ req: { socket }, useChunkedEncodingByDefault }: ServerResponse) {
  const hasReset = socket.remoteAddress !== undefined && !('encrypted' in socket)
  if (useChunkedEncodingByDefault || !hasReset) socket.destroy()
  else socket.resetAndDestroy()
}
