import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { getHeapStatistics } from 'node:v8'
import type { Reply } from '../http/message.ts'
import type { Problem } from '../http/problem.ts'
import {
  CUT_OFF_LOG_PAUSE_MS,
  HEADER_BYTES_MAX,
  HEADER_FIELDS_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REFUSAL_PAUSE_MS,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_CHECK_MS,
  WAITING_REQUEST_BYTES,
  WAITING_REQUESTS_HEAP_SHARE,
} from '../limits.ts'
import type { Log } from '../log.ts'
import type { Family } from '../metrics/family.ts'
import { logWhenDone } from './access-log.ts'
import { type App, problemReply } from './app.ts'
import type { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { findConnectionsLimit } from './descriptors.ts'
import { findFramingFault } from './framing.ts'
import { IncomingRequest } from './incoming-request.ts'
import { lingerOnClose } from './linger.ts'
import { findOrigin, type Trust, UNIX_PEER } from './proxy-trust.ts'
import { clientProblem, refuseRaw, targetProblem } from './raw-refusal.ts'
import { createRequestIds } from './request-id.ts'
import { RequestMetrics } from './request-metrics.ts'
import { createTurns } from './turns.ts'
import { WaitingRequests } from './waiting-requests.ts'
import { writeReply } from './write-reply.ts'

/** A certificate chain and its key, as PEM texts. */
export interface TlsTexts {
  readonly cert: string
  readonly key: string
}

export interface ListenerOptions {
  readonly app: App
  readonly log: Log
  /** Whether each answer is a line in the log. */
  readonly hasAccessLog: boolean
  /** Proxies that are believed when they say who calls; none when not given. */
  readonly trustedProxies?: Trust | undefined
  /** Plain HTTP without it. */
  readonly tls?: TlsTexts | undefined
}

/**
 * An address or a name, undefined for every address, IPv6 and IPv4; the path of a Unix socket; or the descriptor of a
 * socket on which another process has begun to listen.
 */
export type Place =
  | { readonly port: number; readonly host: string | undefined }
  | { readonly path: string }
  | { readonly fd: number }

export interface Listener {
  /** @returns The address listened on; undefined for a Unix socket. */
  listen(place: Place): Promise<AddressInfo | undefined>
  /**
   * Shows another certificate to whoever connects from now on; connections that there are go on with theirs. A session
   * of the old one is not resumed: such a client gets a full handshake.
   *
   * @param tls Two that belong together: a handshake would be the first to tell otherwise.
   * @throws {Error} if the listener speaks plain HTTP, or OpenSSL cannot use the texts; nothing has changed.
   */
  useCertificate(tls: TlsTexts): void
  /** Whether `drain` has been called. */
  readonly isDraining: boolean
  /** Of requests and connections. */
  readonly metrics: readonly Family[]
  /** Takes no more connections, answers what is in flight, and after `timeoutMs` cuts off what is left. */
  drain(timeoutMs: number): Promise<void>
}

/** An answer is data, whatever a browser would make of it: nothing in it runs, is framed, or tells where it came from. */
const PROTECTIVE_HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
]

/** Turns sockets into requests and replies into bytes; nothing else touches a socket. */
export function createListener({ app, log, hasAccessLog, trustedProxies, tls }: ListenerOptions): Listener {
  const nameRequest = createRequestIds()
  const turns = createTurns()
  const limit = findConnectionsLimit()
  const connections = new Connections(limit.connections, (quietest) =>
    cutOff(quietest, `there are ${limit.connections} connections, and it was quiet for longest`),
  )
  const waiting = new WaitingRequests(
    (getHeapStatistics().heap_size_limit * WAITING_REQUESTS_HEAP_SHARE) / WAITING_REQUEST_BYTES,
  )
  const metrics = new RequestMetrics()
  let isHolding = false
  let cutOffLogged = Number.NEGATIVE_INFINITY
  let isDraining = false

  const options = {
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    noDelay: true,
    // A missing Host is answered like any other fault of framing.
    requireHostHeader: false,
    // Most requests have no body, and are worth no stream.
    optimizeEmptyRequests: true,
  }
  const tlsServer =
    tls && createTlsServer({ ...options, ...contextOf(tls), handshakeTimeout: HEADERS_TIMEOUT_MS }, receive)
  const server: Server = tlsServer ?? createServer(options, receive)
  const fixedHeaders = [...PROTECTIVE_HEADERS, ...(tls === undefined ? [] : TLS_HEADERS)]
  server.maxHeadersCount = HEADER_FIELDS_MAX
  // A client that closes its half after the request still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('checkContinue', receive satisfies RequestListener)
  server.on('checkExpectation', receive satisfies RequestListener)
  /** Of peers that have none. */
  let peerAddress: string | undefined
  server.on('connection', (socket: Socket) => connections.add(socket, peerAddress))
  tlsServer?.on('secureConnection', (socket: Socket) => connections.join(socket))
  server.on('connect', (_: IncomingMessage, socket: Socket) => {
    // Node has taken its own listeners away.
    socket.on('error', () => socket.destroy())
    metrics.malformed.increment()
    refuseAfterLast(socket, targetProblem)
  })
  server.on('clientError', onClientError)

  return {
    get isDraining() {
      return isDraining
    },
    metrics: [
      ...metrics.families,
      {
        name: 'connbook_http_connections',
        help: 'Open connections.',
        type: 'gauge',
        samples: () => [{ value: connections.count }],
      },
    ],
    listen(place) {
      const { promise, resolve, reject } = Promise.withResolvers<AddressInfo | undefined>()
      if (limit.openFiles !== undefined) {
        log.warn('connections_limited', { connections: limit.connections, open_files: limit.openFiles })
      }
      server.once('error', reject)
      server.listen(place, () => {
        server.off('error', reject)
        const address = server.address()
        if (address !== null && typeof address === 'object') return resolve(address)
        peerAddress = UNIX_PEER
        resolve(undefined)
      })
      return promise
    },
    useCertificate(next) {
      if (tlsServer === undefined) throw new Error('Cannot use a certificate: the listener speaks plain HTTP')
      tlsServer.setSecureContext(contextOf(next))
    },
    async drain(timeoutMs) {
      isDraining = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const deadline = setTimeout(() => connections.destroyAll(), timeoutMs)
      await closed
      clearTimeout(deadline)
    },
  }

  /** Pipelined requests are carried out one after the other (RFC 9112 section 9.3.2), and so in their order. */
  function receive(incoming: IncomingMessage, response: ServerResponse) {
    const { socket } = incoming
    const connection = connections.of(socket)
    // Nobody is there any more to be answered, or to be held to account; the parser goes on with what it has.
    if (connection === undefined || connection.origin.address === '' || socket.destroyed) {
      socket.destroy()
      return
    }
    connections.touch(connection)
    const { last, origin } = connection
    const { headers } = incoming
    const request = new IncomingRequest(
      incoming,
      response,
      trustedProxies === undefined ? origin : findOrigin(origin, headers, trustedProxies),
      nameRequest(headers['x-request-id']),
      turns,
    )
    connection.last = request
    if (last === undefined || last.response.closed) {
      answer(incoming, request, connection)
      return
    }
    if (!waiting.add(socket)) {
      cutOff(connection, `${waiting.count} requests wait for the answer to one before them`)
      holdUntilFreed()
      return
    }
    socket.pause()
    last.response.once('close', () => {
      if (socket.destroyed) return
      // Node resumes it when it has sent something.
      process.nextTick(() => socket.pause())
      // A read can bring thousands of requests.
      turns(() => {
        waiting.remove(socket)
        if (connection.last === request) socket.resume()
        answer(incoming, request, connection)
      })
    })
  }

  /** What a connection took up is free only when the event loop has come round; until then no more may come in. */
  function holdUntilFreed() {
    if (isHolding) return
    isHolding = true
    const goOn = connections.hold()
    setImmediate(() =>
      setImmediate(() => {
        isHolding = false
        goOn()
      }),
    )
  }

  function cutOff({ socket, origin }: Connection, reason: string) {
    socket.destroy()
    metrics.cutOff.increment()
    const now = performance.now()
    if (now - cutOffLogged < CUT_OFF_LOG_PAUSE_MS) return
    cutOffLogged = now
    log.warn('connection_cut_off', { address: origin.address, reason })
  }

  function answer(incoming: IncomingMessage, request: IncomingRequest, connection: Connection) {
    if (connection.isClosing || connection.socket.destroyed) return
    const { response } = request
    metrics.begin(request)
    if (hasAccessLog) logWhenDone(request, log)
    const fault = findFramingFault(incoming)
    // Node's parser throws away what it has read behind a request that asks for an upgrade.
    const isUpgrade = incoming.headers.upgrade !== undefined
    if (fault !== undefined || isUpgrade || !response.shouldKeepAlive) connection.isClosing = true
    if (fault !== undefined) return send(request, connection, problemReply(fault))
    const reply = app(request)
    if (request.principal !== undefined) connections.trust(connection)
    if (reply instanceof Promise) void reply.then((value) => sendLater(request, connection, value))
    else send(request, connection, reply)
  }

  /** Whoever is told to come back later would otherwise be back at once, and keep the server busy with refusing. */
  function sendLater(request: IncomingRequest, connection: Connection, reply: Reply) {
    if (reply.headers['Retry-After'] === undefined) send(request, connection, reply)
    else setTimeout(() => send(request, connection, reply), REFUSAL_PAUSE_MS)
  }

  /** A reply that cannot be sent costs its connection and nothing else. */
  function send(request: IncomingRequest, connection: Connection, reply: Reply) {
    try {
      if (request.isBodyRefused) lingerOnClose(connection.socket, turns)
      if (request.isBodyRefused || isDraining) connection.isClosing = true
      const streamed = writeReply(request, reply, fixedHeaders, connection.isClosing, turns)
      if (streamed === undefined) return metrics.end(request, reply.status)
      const end = () => {
        metrics.end(request, reply.status)
        // Its head was written before anybody knew that the connection would end.
        if (isDraining) server.closeIdleConnections()
      }
      void streamed.catch((error: unknown) => logFailure(request, error)).then(end)
    } catch (error) {
      logFailure(request, error)
      request.response.destroy()
      metrics.end(request, 500)
    }
  }

  function logFailure({ requestId }: IncomingRequest, error: unknown) {
    log.error('reply_failed', {
      request_id: requestId,
      reason: error instanceof Error ? error.stack : String(error),
    })
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket) {
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

/** What every answer over our own TLS carries; over plain HTTP it would mean nothing (RFC 6797 section 7.2). */
const TLS_HEADERS = ['Strict-Transport-Security', 'max-age=31536000']

/** Everything that a handshake goes by. */
function contextOf({ cert, key }: TlsTexts): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}
