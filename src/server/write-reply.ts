import { STATUS_CODES } from 'node:http'
import type { Reply } from '../http/message.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { sendPieces } from './streamed-body.ts'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/**
 * Writes a reply as the answer to a request.
 *
 * @param fixedHeaders Names and values, in turn, that every answer carries when the reply has none of its own.
 * @param isLast Whether the connection ends with it.
 * @returns As `sendPieces` for a body in pieces; undefined when all has been handed over.
 * @throws {TypeError} when a header cannot be sent; nothing has been.
 */
export function writeReply(
  request: IncomingRequest,
  { status, reason, headers: ownHeaders, body }: Reply,
  fixedHeaders: readonly string[],
  isLast: boolean,
  turns: Turns,
): Promise<void> | undefined {
  const { response } = request
  const { socket } = response.req
  // Node reads a flat list quicker than an object.
  const headers = ['X-Request-Id', request.requestId, ...fixedHeaders]
  for (const name in ownHeaders) {
    const fixed = indexOfName(fixedHeaders, name)
    if (fixed === -1) headers.push(name, ownHeaders[name] ?? '')
    else headers[fixed + 3] = ownHeaders[name] ?? ''
  }
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : undefined
  if (bytes !== undefined) headers.push('Content-Length', String(bytes))
  if (isLast) headers.push('Connection', 'close')
  response.writeHead(status, reason ?? STATUS_CODES[status], headers)
  if (request.method === 'HEAD' || body === undefined) response.end()
  // Latin 1 is quicker to write, where it is the same.
  else if (typeof body === 'string') response.end(body, bytes === body.length ? 'latin1' : 'utf8')
  else {
    // The first piece may be long in coming.
    if (Symbol.asyncIterator in body) response.flushHeaders()
    return sendPieces(body, response, turns)
  }
  if (socket.writableLength > 0) response.once('close', limitTaking(socket))
  return undefined
}

/** Whatever the case; -1 when it is not there. Names differ in length nearly always, which costs nothing to see. */
function indexOfName(headers: readonly string[], name: string): number {
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] ?? ''
    if (other.length === name.length && other.toLowerCase() === name.toLowerCase()) return i
  }
  return -1
}
