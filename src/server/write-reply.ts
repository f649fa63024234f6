import { STATUS_CODES } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Reply } from '../http/message.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { inTurns } from './streamed-body.ts'
import { limitTaking } from './taking-time-out.ts'
import type { Turns } from './turns.ts'

/**
 * Writes a reply as the answer to a request.
 *
 * @param fixedHeaders Names and values, in turn, that every answer carries.
 * @param isLast Whether the connection ends with it.
 * @returns What resolves when a body in pieces has gone out, or could not; undefined when all has been handed over.
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
  for (const name in ownHeaders) headers.push(name, ownHeaders[name] ?? '')
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : undefined
  if (bytes !== undefined) headers.push('Content-Length', String(bytes))
  if (isLast) headers.push('Connection', 'close')
  response.writeHead(status, reason ?? STATUS_CODES[status], headers)
  if (request.method === 'HEAD' || body === undefined) response.end()
  // Latin 1 is quicker to write, where it is the same.
  else if (typeof body === 'string') response.end(body, bytes === body.length ? 'latin1' : 'utf8')
  else {
    return pipeline(inTurns(body, turns, response), response).catch(() => void response.destroy())
  }
  if (socket.writableLength > 0) response.once('close', limitTaking(socket))
  return undefined
}
