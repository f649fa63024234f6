import type { AddressInfo, Socket } from 'node:net'
import type { Log } from '../log.ts'
import { type Family, gauge } from '../metrics/family.ts'
import { createAnswering } from './answering.ts'
import type { App } from './app.ts'
import { Connections } from './connections.ts'
import { createCutOff } from './cut-off.ts'
import { findConnectionsLimit } from './descriptors.ts'
import { createHttpServer, replaceCertificate, type TlsTexts } from './http-server.ts'
import type { ListenerParts } from './listener-parts.ts'
import { type Trust, UNIX_PEER } from './proxy-trust.ts'
import { createRawRefusals } from './raw-refusal.ts'
import { createRequestIds } from './request-id.ts'
import { RequestMetrics } from './request-metrics.ts'
import { createRequestOrder } from './request-order.ts'
import { createTurns } from './turns.ts'

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
   * New connections get this certificate; open ones keep theirs. TLS sessions of the old one are not resumed: their
   * clients get a full handshake.
   *
   * @param tls Chain and key must belong together: nothing but a handshake would tell otherwise.
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

/** What every answer over our own TLS carries; over plain HTTP it would mean nothing (RFC 6797 section 7.2). */
const TLS_HEADERS = ['Strict-Transport-Security', 'max-age=31536000']

/** Turns sockets into requests and replies into bytes; nothing else touches a socket. */
export function createListener({ app, log, hasAccessLog, trustedProxies, tls }: ListenerOptions): Listener {
  const limit = findConnectionsLimit()
  const metrics = new RequestMetrics()
  const cutOff = createCutOff(log, metrics)
  const connections = new Connections(limit.connections, (quietest) =>
    cutOff(quietest, `there are ${limit.connections} connections, and it was quiet for longest`),
  )
  const parts: ListenerParts = {
    connections,
    metrics,
    turns: createTurns(),
    log,
    fixedHeaders: [...PROTECTIVE_HEADERS, ...(tls === undefined ? [] : TLS_HEADERS)],
    nameRequest: createRequestIds(),
    cutOff,
  }
  const server = createHttpServer(tls)
  const answer = createAnswering(parts, app, server, hasAccessLog)
  const receive = createRequestOrder(parts, trustedProxies, answer)
  const { refuseTunnel, refuseUnreadable } = createRawRefusals(parts)
  /** The address that peers on a Unix socket are given; undefined on TCP. */
  let peerAddress: string | undefined
  let isDraining = false
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, receive)
  server.on('connection', (socket: Socket) => connections.add(socket, peerAddress))
  server.on('secureConnection', (socket: Socket) => connections.join(socket))
  server.on('connect', (_, socket: Socket) => refuseTunnel(socket))
  server.on('clientError', refuseUnreadable)

  return {
    get isDraining() {
      return isDraining
    },
    metrics: [
      ...metrics.families,
      gauge('connbook_http_connections', 'Open connections.', () => connections.count),
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
    useCertificate: (next) => replaceCertificate(server, next),
    async drain(timeoutMs) {
      isDraining = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const deadline = setTimeout(() => connections.destroyAll(), timeoutMs)
      await closed
      clearTimeout(deadline)
    },
  }
}
