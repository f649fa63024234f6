import type { Socket } from 'node:net'
import { callerKey } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { HEADER_BYTES_MAX } from '../limits.ts'
import { problemReply } from './app.ts'
import { headerTooLarge, requestTimeout } from './framing.ts'
import type { ParserError } from './intake.ts'
import type { ListenerParts } from './listener-parts.ts'

/** Answers what never reaches the app: CONNECT, and what is not valid HTTP. */
export function createRawRefusals(parts: ListenerParts) {
  const { connections, intake, metrics, log, fixedHeaders, nameRequest } = parts
  return { refuseTunnel, refuseUnreadable }

  /** Answers CONNECT. */
  function refuseTunnel(socket: Socket) {
    // Node has removed its own listeners.
    socket.on('error', () => socket.destroy())
    metrics.malformed.increment()
    refuseAfterLast(socket, new Problem('malformed_target', 'The request target must be a path'))
  }

  /** Answers what Node's parser could not read. */
  function refuseUnreadable(error: ParserError, socket: Socket) {
    const connection = connections.of(socket)
    if (connection !== undefined && intake.keep(error, connection)) return
    // Further bytes of a refused message are dropped.
    if (connection?.isBroken && error.code !== 'ECONNRESET') return
    if (connection === undefined || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    connection.isBroken = true
    metrics.malformed.increment()
    log.debug('malformed_request', { address: connection.origin.address, reason: error.code })
    const problem = clientProblem(error)
    const { newest } = connection
    if (newest === undefined || newest.isComplete) refuseAfterLast(socket, problem)
    else if (newest.response.closed) socket.destroy()
    else newest.breakOff(problem)
  }

  /** Sends a refusal after the answer that is on its way, and closes. */
  function refuseAfterLast(socket: Socket, problem: Problem) {
    const response = connections.of(socket)?.newest?.response
    if (response === undefined || response.closed) refuse(socket, problem)
    else response.once('close', () => refuse(socket, problem))
  }

  function refuse(socket: Socket, problem: Problem) {
    // The client may have disconnected while the answer before was on its way.
    if (!socket.writable) return
    const { status, headers, body } = problemReply(problem)
    const own = { ...headers, 'Content-Length': Buffer.byteLength(String(body)), Connection: 'close' }
    const fields = ['X-Request-Id', nameRequest(undefined), ...fixedHeaders, ...Object.entries(own).flat()]
    const lines = fields.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
    const connection = connections.of(socket)
    if (connection !== undefined) intake.drop(connection, callerKey(connection.origin))
    socket.write(`HTTP/1.1 ${status} ${problem.toJSON().title}\r\n${lines}\r\n${body}`)
    socket.destroySoon()
  }
}

/** Translates an error of Node's parser. */
function clientProblem(error: ParserError): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      // Only a request line can begin so and be this long (RFC 9112 section 3).
      return /^[A-Z]+ \/[^\n]*$/.test(error.rawPacket?.subarray(0, HEADER_BYTES_MAX).toString('latin1') ?? '')
        ? new Problem('target_too_long', `The request line is longer than ${HEADER_BYTES_MAX} bytes`)
        : headerTooLarge()
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout()
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'The chunk extensions are too long')
    default:
      return new Problem('malformed_request', 'The request is not valid HTTP')
  }
}
