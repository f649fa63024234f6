import type { Socket } from 'node:net'
import { Problem } from '../http/problem.ts'
import { HEADER_BYTES_MAX } from '../limits.ts'
import { problemReply } from './app.ts'
import { headerTooLarge } from './framing.ts'
import { lingerOnClose } from './linger.ts'
import type { Turns } from './turns.ts'

export const targetProblem = new Problem(400, 'malformed_target', 'The request target must be a path')

/** Why Node's parser has given a connection up. */
export function clientProblem(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): Problem {
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

/** Answers where there is no request to answer to, and closes. */
export function refuseRaw(socket: Socket, problem: Problem, fixedHeaders: readonly string[], turns: Turns) {
  // Whoever had to wait for an answer before it may have gone meanwhile.
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
