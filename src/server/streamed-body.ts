import type { ServerResponse } from 'node:http'
import type { IncomingRequest } from './incoming-request.ts'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'
import type { UntakenBytes } from './untaken-bytes.ts'

/**
 * Sends a body piece by piece, as fast as the client reads it, one piece a turn. Resolves when everything has been
 * sent, or the client has disconnected. A disconnect calls the iterator's `return`, even while a piece is awaited.
 *
 * @throws What the iterator throws, after cutting the connection: a part must not pass for the whole body.
 */
export async function sendPieces(
  pieces: Iterable<string> | AsyncIterable<string>,
  request: IncomingRequest,
  turns: Turns,
  untaken: UntakenBytes,
): Promise<void> {
  const { response } = request
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
      const state = await writeNext(iterator, response)
      if (state === 'ended') {
        response.off('close', stop)
        response.end()
        return await taken(request, 'close', untaken)
      }
      if (state === 'full') await taken(request, 'drain', untaken)
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

/** A function of its own, because a piece in a variable would stay in memory during every wait that follows. */
async function writeNext(
  iterator: Iterator<string> | AsyncIterator<string>,
  response: ServerResponse,
): Promise<'ended' | 'full' | 'ready'> {
  const next = await iterator.next()
  if (next.done) return 'ended'
  return response.write(next.value) ? 'ready' : 'full'
}

/** Resolves when the client has read what was written, or has disconnected; one that is too slow is cut off. */
async function taken(
  request: IncomingRequest,
  event: 'drain' | 'close',
  untaken: UntakenBytes,
): Promise<void> {
  const { response } = request
  if (response.closed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const endLimit = limitTaking(request, untaken)
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
