import type { ServerResponse } from 'node:http'
import { callerKey, isStillAllowed } from '../http/message.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { limitTaking } from './taking-time-out.ts'

/**
 * Sends a body piece by piece, as fast as the client reads it; the scheduler says when a piece is made and written.
 * Resolves when everything has been sent, or the client has disconnected. A disconnect calls the iterator's `return`,
 * even while a piece is awaited. A caller who may not read any more is cut off before the next piece.
 *
 * @throws What the iterator throws, after cutting the connection: a part must not pass for the whole body.
 */
export async function sendPieces(
  pieces: Iterable<string> | AsyncIterable<string>,
  request: IncomingRequest,
  scheduler: ShortWorkScheduler,
  untaken: HeldBytes,
): Promise<void> {
  const { response } = request
  const caller = callerKey(request)
  let stopped: Promise<unknown> | undefined
  let next: IteratorResult<string> | undefined
  let stop = () => {}
  try {
    const isAsync = Symbol.asyncIterator in pieces
    const iterator = isAsync ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
    stop = () => {
      stopped ??= Promise.try(() => iterator.return?.())
      // Awaited below; until then a failure must not end the process as an unhandled rejection.
      stopped.catch(() => {})
    }
    response.once('close', stop)
    while (!response.closed) {
      next = isAsync ? await iterator.next() : undefined
      const state = await scheduler.once(caller, () => {
        if (response.closed) return 'closed'
        if (!isStillAllowed(request)) return 'refused'
        const { done, value } = next ?? (iterator as Iterator<string>).next()
        // A piece in a variable would stay in memory during every wait that follows.
        next = undefined
        if (done) return 'ended'
        // Waits from here on: what is taken at once is told before any promise is.
        return response.write(value) ? 'taken' : taken(request, 'drain', untaken)
      })
      if (state === 'refused') {
        cut(response)
        break
      }
      if (state === 'ended') {
        response.off('close', stop)
        response.end()
        return await taken(request, 'close', untaken)
      }
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
async function taken(request: IncomingRequest, event: 'drain' | 'close', untaken: HeldBytes): Promise<void> {
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
