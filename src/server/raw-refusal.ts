import type { Socket } from 'node:net'
import { Problem } from '../http/problem.ts'
import { HEADER_BYTES_MAX } from '../limits.ts'
import { problemReply } from './app.ts'
import { headerTooLarge } from './framing.ts'
import { lingerOnClose } from './linger.ts'
import type { ListenerParts } from './listener-parts.ts'
import type { Turns } from './turns.ts'

/** Makes what answers where there is no request to answer to. */
export function createRawRefusals(parts: ListenerParts) {
  const { connections, metrics, turns, log, fixedHeaders, nameRequest } = parts
  return { refuseTunnel, refuseUnreadable }

  /** Answers CONNECT. */
  function refuseTunnel(socket: Socket) {
    // Node has taken its own listeners away.
    socket.on('error', () => socket.destroy())
    metrics.malformed.increment()
    refuseAfterLast(socket, new Problem(400, 'malformed_target', 'The request target must be a path'))
  }

  /** Answers what Node's parser could not read. */
  function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket) {
    const connection = connections.of(socket)
    // More of what was refused; it is read and dropped.
    if (connection?.isBroken && error.code !== 'ECONNRESET') return
    if (connection === undefined || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    connection.isBroken = true
    metrics.malformed.increment()
    log.debug('request_not_understood', { address: connection.origin.address, reason: error.code })
    const problem = clientProblem(error)
    const { last } = connection
    if (last === undefined || last.isComplete) refuseAfterLast(socket, problem)
    else if (last.response.closed) socket.destroy()
    else last.breakOff(problem)
  }

  /** Says something more on a socket without overtaking the answer that is on its way. */
  function refuseAfterLast(socket: Socket, problem: Problem) {
    const last = connections.of(socket)?.last
    const refuse = () =>
      refuseRaw(socket, problem, ['X-Request-Id', nameRequest(undefined), ...fixedHeaders], turns)
    if (last === undefined || last.response.closed) refuse()
    else last.response.once('close', refuse)
  }
}

/** Why Node's parser has given a connection up. */
function clientProblem(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      // Nothing but a request line can begin so and be so long (RFC 9112 section 3).
      return /^[A-Z]+ \/[^\n]*$/.test(error.rawPacket?.subarray(0, HEADER_BYTES_MAX).toString('latin1') ?? '')
        ? new Problem(414, 'target_too_long', `The request line is longer than ${HEADER_BYTES_MAX} bytes`)
        : headerTooLarge()
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(408, 'request_timeout', 'The request took too long to arrive')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem(413, 'body_too_large', 'The chunk extensions are too long')
    default:
      return new Problem(400, 'malformed_request', 'The request is not valid HTTP')
  }
}

/** Answers and closes. */
function refuseRaw(socket: Socket, problem: Problem, fixedHeaders: readonly string[], turns: Turns) {
  // While it waited for the answer before it, the client may have gone.
  if (!socket.writable) return
  const { status, headers, body } = problemReply(problem)
  const title = problem.toJSON().title
  const length = Buffer.byteLength(String(body))
  const fields = { ...headers, 'Content-Length': length, Connection: 'close' }
  const lines = [...fixedHeaders, ...Object.entries(fields).flat()].map((text, i) =>
    i % 2 === 0 ? `${text}: ` : `${text}\r\n`,
  )
  lingerOnClose(socket, turns)
  socket.write(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`)
  socket.destroySoon()
}
