import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import {
  callerKey,
  type LiveBody,
  type LivePiece,
  type LiveSink,
  maySendMore,
  type Reply,
} from '../http/message.ts'
import { LINGER_MS, TAKING_TIMEOUT_MS } from '../limits.ts'
import { type ShortWorkScheduler, SliceClock } from '../scheduler.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Estimated memory of a character that waits: in its string, and in the buffer that is being sent. */
export const UNTAKEN_CHARACTER_BYTES = 3

/**
 * @param fixedHeaders Name, value, name, value and so on; a header of the reply replaces one of the same name.
 * @param isLast Whether the connection closes after it.
 * @returns The promise of `sendPieces` for a body in pieces; undefined if Node has the whole answer already.
 * @throws {TypeError} if a header is not valid; nothing has been sent.
 */
export function writeReply(
  request: IncomingRequest,
  { status, reason, headers: ownHeaders, cookies, body, bodyBytes }: Reply,
  fixedHeaders: readonly string[],
  isLast: boolean,
  scheduler: ShortWorkScheduler,
  untaken: HeldBytes,
): Promise<void> | undefined {
  const { response } = request
  const { socket } = response.req
  // Node handles a flat list faster than an object.
  const headers = ['X-Request-Id', request.requestId, ...fixedHeaders]
  for (const name in ownHeaders) {
    const fixed = indexOfName(fixedHeaders, name)
    if (fixed === -1) headers.push(name, ownHeaders[name] ?? '')
    else headers[fixed + 3] = ownHeaders[name] ?? ''
  }
  if (cookies !== undefined) for (const cookie of cookies) headers.push('Set-Cookie', cookie)
  const bytes =
    typeof body === 'string'
      ? (bodyBytes ?? Buffer.byteLength(body))
      : body instanceof Uint8Array
        ? body.byteLength
        : undefined
  if (bytes !== undefined) headers.push('Content-Length', String(bytes))
  if (isLast) headers.push('Connection', 'close')
  response.writeHead(status, reason ?? STATUS_CODES[status], headers)
  if (request.method === 'HEAD' || body === undefined) response.end()
  // Latin 1 is faster, and the same bytes for ASCII.
  else if (typeof body === 'string') response.end(body, bytes === body.length ? 'latin1' : 'utf8')
  else if (body instanceof Uint8Array) response.end(body)
  else if ('begin' in body) {
    sendLive(body, request, untaken)
    return undefined
  } else {
    // The first piece may take long.
    if (Symbol.asyncIterator in body) response.flushHeaders()
    return sendPieces(body, request, scheduler, untaken)
  }
  if (socket.writableLength > 0) response.once('close', limitTaking(request, untaken))
  return undefined
}

/** Ignores case; -1 if absent. Compares lengths first, which nearly always differ. */
function indexOfName(headers: readonly string[], name: string): number {
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] ?? ''
    if (other.length === name.length && other.toLowerCase() === name.toLowerCase()) return i
  }
  return -1
}

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
  const clock = new SliceClock()
  try {
    const { grants } = request.principal ?? {}
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
        if (!maySendMore(request, grants)) return 'refused'
        clock.begin()
        let { done, value } = next ?? (iterator as Iterator<string>).next()
        while (!isAsync && value === '' && !clock.isOverAfterStep())
          ({ done, value } = (iterator as Iterator<string>).next())
        // A piece in a variable would stay in memory during every wait that follows.
        next = undefined
        if (done) return 'ended'
        // Waits from here on: what is taken at once is reported before any promise settles.
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

/** Sends a live body, on a connection that closes after it. */
export function sendLive(body: LiveBody, request: IncomingRequest, untaken: HeldBytes): void {
  // It may have gone while its answer waited.
  if (request.response.destroyed || request.response.req.socket.destroyed) body.closed()
  else new LiveAnswer(body, request, untaken).begin()
}

/** After the head, pieces go straight to the socket: through the response they cost twice as much. */
class LiveAnswer implements LiveSink {
  readonly #body: LiveBody
  readonly #request: IncomingRequest
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #untaken: HeldBytes
  #forget: (() => void) | undefined
  #isOver = false

  constructor(body: LiveBody, request: IncomingRequest, untaken: HeldBytes) {
    this.#body = body
    this.#request = request
    this.#response = request.response
    this.#socket = request.response.req.socket
    this.#untaken = untaken
  }

  begin(): void {
    const socket = this.#socket
    socket.on('drain', () => this.#drained())
    // A client that has sent its last byte could be gone, which only a write would show.
    const leave = () => void socket.destroy()
    // `once` would keep two objects more for each. The connection ends with the answer.
    if (socket.readableEnded) leave()
    else socket.on('end', leave)
    this.#response.on('close', () => {
      this.#isOver = true
      this.#forgetUntaken()
      this.#body.closed()
    })
    // The head goes out with the first piece.
    socket.cork()
    process.nextTick(() => socket.uncork())
    this.#response.flushHeaders()
    this.#body.begin(this)
  }

  send(piece: LivePiece): void {
    if (this.#isOver || this.#socket.write(this.#response.chunkedEncoding ? piece.chunk : piece.bytes)) return
    // The system has taken what it has room for by then, also of what is held back until the next tick.
    process.nextTick(() => this.#countUntaken())
  }

  get hasRoom(): boolean {
    return !this.#isOver && !this.#socket.writableNeedDrain
  }

  get passedBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#response.end()
    const socket = this.#socket
    if (socket.writableLength === 0) return
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  cut(): void {
    this.#socket.destroy()
  }

  #drained() {
    this.#forgetUntaken()
    if (!this.#isOver) this.#body.drained()
  }

  #countUntaken() {
    if (!this.hasRoom && !this.#isOver)
      this.#forget ??= this.#untaken.add(this.#request, this.#socket.writableLength)
  }

  #forgetUntaken() {
    this.#forget?.()
    this.#forget = undefined
  }
}

/**
 * Counts what the socket holds as untaken, and destroys it if the client does not take that within TAKING_TIMEOUT_MS;
 * the function returned ends both. Node's own time-out costs every request, and restarts when the client sends
 * something.
 */
export function limitTaking(request: IncomingRequest, untaken: HeldBytes): () => void {
  const { socket } = request.response.req
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  const remove = untaken.add(request, socket.writableLength * UNTAKEN_CHARACTER_BYTES)
  return () => {
    clearTimeout(timer)
    remove()
  }
}
