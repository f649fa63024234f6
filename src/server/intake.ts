import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { callerKey } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { LINGER_MS, REQUEST_TIMEOUT_MS } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Connection, Connections } from './connections.ts'
import { requestTimeout } from './framing.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Estimated memory of a request that waits for the answer to an earlier one on its connection. */
const WAITING_REQUEST_BYTES = 8 * 1024

/** What Node does not document of a socket whose requests it parses. */
interface ParsedSocket extends Socket {
  parser?: {
    /** Called with each head; what it returns is for llhttp. */
    onIncoming(incoming: IncomingMessage & { upgrade: boolean | null }, keepAlive: boolean): number
    /** Between reads: the next one is reported as HPE_PAUSED, as a whole. */
    pause(): void
    resume(): void
  } | null
  /** Node's own brake for pipelined requests. When an answer has room, it lets the parser go on. */
  _paused?: boolean
}

/** An error of Node's parser. */
export type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }

/** Makes llhttp stop behind a head, as HPE_PAUSED. */
const PAUSED = 21

/** Makes llhttp stop behind a head for good: it does not read what follows as HTTP. */
const UPGRADED = 2

/**
 * Decides whether a connection is read. Behind a request that waits for the answer to an earlier one, the connection is
 * stopped: nothing is parsed beyond its head, and nothing more is read. The rest of the last read is kept. Of a body in
 * chunks, each read waits for the turn of its caller: it may bring 10,000 chunks, and each takes microseconds.
 */
export class Intake {
  readonly #connections: Connections
  readonly #held: HeldBytes
  readonly #scheduler: Pick<Scheduler, 'once' | 'resume'>

  /** @param held Counts what stopped connections keep. */
  constructor(connections: Connections, held: HeldBytes, scheduler: Pick<Scheduler, 'once' | 'resume'>) {
    this.#connections = connections
    this.#held = held
    this.#scheduler = scheduler
  }

  /** Call it for each socket once Node's parser is on it, before anything is read. */
  add(socket: Socket): void {
    const connection = this.#connections.of(socket)
    const { parser } = socket as ParsedSocket
    if (connection === undefined || !parser) return
    const receive = parser.onIncoming
    parser.onIncoming = (incoming, keepAlive) => {
      const isChunked = incoming.headers['transfer-encoding'] !== undefined
      // Behind a request for an upgrade, llhttp stops by itself, and cannot be stopped before.
      const stopsByItself = incoming.upgrade
      const result = receive(incoming, keepAlive)
      if (isChunked && !stopsByItself) this.#waitForTurn(connection)
      if (isChunked && stopsByItself && connection.newest?.principal === undefined) {
        connection.newest?.breakOff(unstoppable())
        return UPGRADED
      }
      return (connection.isStopped || connection.isDropped) && !stopsByItself ? PAUSED : result
    }
    // Node resumes it after each request, when an answer has room, and in the tick after the TLS handshake.
    socket.on('resume', () => {
      if (connection.isStopped) pause(socket)
    })
    // So that the parser finds what is missing. By then it may be that of another connection.
    socket.prependListener('end', () => {
      if (!connection.isStopped) (socket as ParsedSocket).parser?.resume()
    })
    socket.on('close', () => clearTimeout(connection.deadline))
  }

  #waitForTurn(connection: Connection) {
    if (connection.last === undefined || connection.isStopped || connection.isDropped) return
    connection.rest = []
    pause(connection.socket)
    void this.#scheduler.once(callerKey(connection.last), () => this.#readOn(connection))
  }

  /** Stops a connection behind the head that is being parsed, which is that of `next`. */
  stop(connection: Connection, next: IncomingRequest): void {
    const socket = connection.socket as ParsedSocket
    connection.next = next
    connection.rest = []
    socket._paused = false
    pause(socket)
    connection.last?.follow()
  }

  /** Lets a stopped connection go on, because `last` is now the request that waited. */
  goOn(connection: Connection): void {
    this.#readOn(connection)
    if (connection.last?.isComplete === false) limitBody(connection, connection.last)
  }

  /** Up to where it must stop again, or for good. */
  #readOn(connection: Connection) {
    const socket: ParsedSocket = connection.socket
    const rest = this.#takeRest(connection)
    if (!socket.parser) return
    socket.parser.resume()
    // The parser finds the end of a request without a body only now, even if nothing follows.
    socket.emit('data', rest.length === 1 ? rest[0] : Buffer.concat(rest))
    if (connection.isStopped || connection.isDropped) return
    if (isInChunks(connection.last)) socket.parser?.pause()
    socket.resume()
  }

  /**
   * Takes what Node reports as errors of a client because its connection is stopped.
   *
   * @returns Whether it was no error.
   */
  keep({ code, rawPacket, bytesParsed }: ParserError, connection: Connection): boolean {
    const { next, last } = connection
    // Node's time for a body goes on while its request waits.
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
      return next !== undefined || (last?.isComplete === false && connection.deadlineOf === last)
    if (code !== 'HPE_PAUSED') return false
    if (rawPacket === undefined) return connection.isStopped
    const isNewRead = !connection.isStopped && isInChunks(last)
    if (isNewRead) this.#waitForTurn(connection)
    const { rest, newest } = connection
    if (rest === undefined || newest === undefined) return true
    // TLS gives a read to the parser in pieces, and of the later ones nothing is parsed.
    rest.push(rest.length === 0 && !isNewRead ? rawPacket.subarray(bytesParsed) : rawPacket)
    const bytes = rest.reduce((sum, { buffer }) => sum + buffer.byteLength, WAITING_REQUEST_BYTES)
    connection.release?.()
    connection.release = this.#held.add(newest, bytes)
    return true
  }

  /** Drops what was kept and all that comes, until the connection closes. */
  drop(connection: Connection, caller: string): void {
    const { isStopped } = connection
    this.forget(connection)
    if (connection.isDropped) return
    connection.isDropped = true
    // Node reads on at this event, and no longer listens to it once the parser is off the socket.
    if (isStopped) connection.socket.emit('resume')
    lingerOnClose(connection.socket, this.#scheduler, caller)
  }

  /** Drops what was kept of a connection that has ended. */
  forget(connection: Connection): void {
    this.#takeRest(connection)
  }

  #takeRest(connection: Connection): Buffer[] {
    const { rest = [] } = connection
    connection.next = undefined
    connection.rest = undefined
    connection.release?.()
    connection.release = undefined
    return rest
  }
}

function pause(socket: Socket) {
  socket.pause()
  // In the tick after the TLS handshake Node reads even if it is paused, and would not hear of it again.
  socket.emit('pause')
}

/** From a stranger, no body in chunks is taken that cannot wait for its turn. */
function unstoppable(): Problem {
  const message = 'A request for an upgrade has a body in chunks; leave out the header Upgrade'
  return new Problem('unsupported_transfer_coding', message)
}

/** Whether the rest of a body in chunks has still to come. */
function isInChunks(request: IncomingRequest | undefined): boolean {
  return request?.isComplete === false && request.headers['transfer-encoding'] !== undefined
}

/** Gives the body of a request that has waited its full time to arrive. */
function limitBody(connection: Connection, request: IncomingRequest) {
  connection.deadlineOf = request
  clearTimeout(connection.deadline)
  connection.deadline = setTimeout(() => {
    if (request.isComplete) return
    if (request.response.closed) connection.socket.destroy()
    else request.breakOff(requestTimeout())
  }, REQUEST_TIMEOUT_MS).unref()
}

/**
 * Makes the socket close in two steps (RFC 9112 section 9.6). Closing with unread bytes resets the connection, and the
 * client may lose the answer. So the sending half closes first, and input is dropped, in turns, for LINGER_MS.
 *
 * @param caller Whose it is; callers take turns.
 */
export function lingerOnClose(socket: Socket, scheduler: Pick<Scheduler, 'resume'>, caller: string) {
  // Node's parser bypasses the stream until there is a listener for `data`.
  socket.on('data', () => {})
  socket.removeAllListeners('data')
  socket.on('data', () => {
    socket.pause()
    scheduler.resume(caller, socket)
  })
  socket.resume()
  socket.destroySoon = () => {
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}
