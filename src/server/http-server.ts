import { createServer, type Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { HEADER_BYTES_MAX, HEADER_FIELDS_MAX, REQUEST_TIMEOUT_MS } from '../limits.ts'
import { networkOf } from '../network.ts'
import type { Scheduler } from '../scheduler.ts'

/** From the first byte of a request to the end of its header. */
export const HEADERS_TIMEOUT_MS = 10_000
/** Longer than common proxies keep an idle connection (60 s), so that the proxy closes first. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** Between checks of the time-outs above. */
export const TIMEOUT_CHECK_MS = 2_000

/** A certificate chain and its key, as PEM texts. */
export interface TlsTexts {
  readonly cert: string
  readonly key: string
}

const options = {
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  maxHeaderSize: HEADER_BYTES_MAX,
  noDelay: true,
  // `findFramingFault` checks the header.
  requireHostHeader: false,
  // Most requests have no body, so they need no stream.
  optimizeEmptyRequests: true,
}

/** Makes Node's server with our limits; with TLS if a certificate is given. */
export function createHttpServer(tls: TlsTexts | undefined): Server {
  const server = tls === undefined ? createServer(options) : createTlsServer(tls)
  server.maxHeadersCount = HEADER_FIELDS_MAX
  // A client that closes its half after the request still gets the answer.
  return Object.assign(server, { httpAllowHalfOpen: true })
}

/** Accepts connections for a server on one more address. */
export function createFurtherDoor(server: Server, isSecure: boolean): NetServer {
  // As Node makes the server itself.
  const likeServer = { allowHalfOpen: true, noDelay: options.noDelay, pauseOnConnect: isSecure }
  return createNetServer(likeServer, (socket) => void server.emit('connection', socket))
}

/** Loads Node's TLS only when it is needed: loading takes a third of a start. */
function createTlsServer(tls: TlsTexts): TlsServer {
  const { createServer: create } = process.getBuiltinModule('node:https')
  // Until its turn, a connection is not read.
  return create({
    ...options,
    ...contextOf(tls),
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    pauseOnConnect: true,
  })
}

/**
 * Lets TLS handshakes begin in turns, of each network one after another: they take a millisecond each, and hundreds of
 * clients may reconnect at once.
 */
export function beginInTurns(server: Server, scheduler: Pick<Scheduler, 'resume'>): void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    // Nothing else listens yet.
    const ignore = () => {}
    socket.on('error', ignore)
    const begin = () => {
      socket.off('error', ignore)
      if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket)
    }
    scheduler.resume(networkOf(socket.remoteAddress ?? ''), { resume: begin })
  })
}

/** @throws {Error} if the server speaks plain HTTP, or OpenSSL cannot use the texts; nothing has changed. */
export function replaceCertificate(server: Server, tls: TlsTexts): void {
  if (!('setSecureContext' in server)) {
    throw new Error('Cannot use a certificate: the listener speaks plain HTTP')
  }
  ;(server as TlsServer).setSecureContext(contextOf(tls))
}

function contextOf({ cert, key }: TlsTexts): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}
