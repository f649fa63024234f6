import { STATUS_CODES } from 'node:http'
import type { Reply } from '../http/message.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { sendLive } from './live-answer.ts'
import { sendPieces } from './streamed-body.ts'
import { limitTaking } from './taking-time-out.ts'

/**
 * @param fixedHeaders Name, value, name, value and so on; a header of the reply replaces one of the same name.
 * @param isLast Whether the connection closes after it.
 * @returns The promise of `sendPieces` for a body in pieces; undefined if Node has the whole answer already.
 * @throws {TypeError} if a header is not valid; nothing has been sent.
 */
export function writeReply(
  request: IncomingRequest,
  { status, reason, headers: ownHeaders, body, bodyBytes }: Reply,
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
