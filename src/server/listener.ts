import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { shareOf } from '../budget.ts'
import type { Log } from '../log.ts'
import { type Family, gauge } from '../metrics/family.ts'
import type { Scheduler } from '../scheduler.ts'
import type { App } from './app.ts'
import { Connections } from './connections.ts'
import { HeldBytes } from './held-bytes.ts'
import {
  beginInTurns,
  createFurtherDoor,
  createHttpServer,
  replaceCertificate,
  type TlsTexts,
} from './http-server.ts'
import { createRequestIds } from './incoming-request.ts'
import { Intake } from './intake.ts'
import { KeptVersions } from './kept-versions.ts'
import { createCutOff, type ListenerParts } from './listener-parts.ts'
import { type Trust, UNIX_PEER } from './proxy-trust.ts'
import { createRawRefusals } from './raw-refusal.ts'
import { RequestMetrics } from './request-metrics.ts'
import { createAnswering, createRequestOrder } from './request-order.ts'

/** Open connections, fewer if open files or memory are scarce; for one more, the longest quiet one is closed. */
export const CONNECTIONS_MAX = 10_000
/** Measured memory of one that has sent all but the end of a header, with what Node, OpenSSL and the kernel keep for it. */
export const PLAIN_CONNECTION_BYTES = 48 * 1024
/** The same over TLS, or after so much of a handshake. */
export const TLS_CONNECTION_BYTES = 96 * 1024
/** Descriptors kept for files: snapshots, accounts, certificates. */
export const DESCRIPTORS_RESERVED = 16

export interface ListenerOptions {
  readonly app: App
  /** Answers on the owner's socket; `app` if absent. */
  readonly ownerApp?: App
  readonly scheduler: Pick<Scheduler, 'once' | 'resume' | 'giveWay'>
  readonly log: Log
  readonly hasAccessLog: boolean
  /** Peers whose `X-Forwarded-…` headers count; none if absent. */
  readonly trustedProxies?: Trust | undefined
  /** Plain HTTP if absent. */
  readonly tls?: TlsTexts | undefined
}

/**
 * Where to listen: a port of a host (undefined: of every IPv4 and IPv6 address), the path of a Unix socket, or the
 * descriptor of a socket on which another process has begun to listen.
 */
export type Place =
  | { readonly port: number; readonly host: string | undefined }
  | { readonly path: string }
  | { readonly fd: number }

export interface Listener {
  /** @returns The address listened on; undefined for a Unix socket. */
  listen(place: Place): Promise<AddressInfo | undefined>
  /** Listens on one more address, after `listen`. */
  listenAlso(place: { readonly port: number; readonly host: string }): Promise<void>
  /** Makes the owner's socket: all who connect there are the owner of the data folder. Its file goes when it closes. */
  listenForOwner(path: string): Promise<void>
  closeForOwner(): Promise<void>
  /**
   * New connections get this certificate; open ones keep theirs. TLS sessions of the old one are not resumed.
   *
   * @param tls The key must belong to the chain; this is not checked here.
   * @throws {Error} if the listener speaks plain HTTP, or OpenSSL cannot use the texts; nothing has changed.
   */
  useCertificate(tls: TlsTexts): void
  readonly isDraining: boolean
  readonly metrics: readonly Family[]
  /** Stops accepting, answers requests in flight, and destroys what is left after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
}

/** For browsers, answers are data: nothing in them runs or is framed, and their URL is no referrer. */
const PROTECTIVE_HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
]

/** Only over our own TLS: plain HTTP must not carry it (RFC 6797 section 7.2). */
const TLS_HEADERS = ['Strict-Transport-Security', 'max-age=31536000']

/** Turns sockets into requests, and replies into bytes. */
export function createListener(options: ListenerOptions): Listener {
  const { app, ownerApp = app, scheduler, log, hasAccessLog, trustedProxies, tls } = options
  const limit = findConnectionsLimit(tls !== undefined)
  const metrics = new RequestMetrics()
  const cutOff = createCutOff(log, metrics)
  const connections = new Connections(limit.connections, (quietest) =>
    cutOff(quietest, `there are ${limit.connections} connections, and it was quiet for longest`),
  )
  const heldBytes = (share: Parameters<typeof shareOf>[0], what: string) =>
    new HeldBytes(shareOf(share), connections, cutOff, what)
  const waiting = heldBytes('waiting', 'requests that wait for an earlier one')
  const intake = new Intake(connections, waiting, scheduler)
  const parts: ListenerParts = {
    connections,
    intake,
    metrics,
    scheduler,
    untaken: heldBytes('untaken', 'answers that nobody has taken'),
    arriving: heldBytes('arriving', 'bodies that have not arrived as a whole'),
    kept: new KeptVersions(shareOf('keptVersions'), connections, cutOff),
    log,
    fixedHeaders: [...PROTECTIVE_HEADERS, ...(tls === undefined ? [] : TLS_HEADERS)],
    nameRequest: createRequestIds(),
    cutOff,
  }
  const ownerParts: ListenerParts = { ...parts, fixedHeaders: PROTECTIVE_HEADERS }
  const server = createHttpServer(tls)
  if (tls !== undefined) beginInTurns(server, scheduler)
  const furtherDoors: NetServer[] = []
  const ownerServer = createHttpServer(undefined)
  const answerAll = createAnswering(parts, app, server, hasAccessLog)
  const answerOwner = createAnswering(ownerParts, ownerApp, ownerServer, hasAccessLog)
  const receive = createRequestOrder(parts, trustedProxies, (incoming, request, connection) => {
    if (request.isOwner) answerOwner(incoming, request, connection)
    else answerAll(incoming, request, connection)
  })
  handOver(server, receive, createRawRefusals(parts))
  handOver(ownerServer, receive, createRawRefusals(ownerParts))
  /** Address given to peers on a Unix socket; undefined on TCP. */
  let peerAddress: string | undefined
  let isDraining = false
  let certificateEnd = tls && endOf(tls)
  server.on('connection', (socket: Socket) => {
    connections.add(socket, peerAddress)
    intake.add(socket)
    scheduler.giveWay()
  })
  server.on('secureConnection', (socket: Socket) => {
    connections.join(socket)
    intake.add(socket)
  })
  ownerServer.on('connection', (socket: Socket) => {
    connections.add(socket, UNIX_PEER, true)
    intake.add(socket)
  })

  return {
    get isDraining() {
      return isDraining
    },
    metrics: [
      ...metrics.families,
      gauge('connbook_http_connections', 'Open connections.', () => connections.count),
      gauge(
        'connbook_certificate_end_timestamp_seconds',
        'When the certificate of the server ends, in seconds since 1970; none over plain HTTP.',
        () => certificateEnd,
      ),
    ],
    async listen(place) {
      if (limit.openFiles !== undefined) {
        log.warn('connections_limited', { connections: limit.connections, open_files: limit.openFiles })
      }
      await listening(server, place)
      const address = server.address()
      if (address !== null && typeof address === 'object') return address
      peerAddress = UNIX_PEER
      return undefined
    },
    async listenAlso(place) {
      const door = createFurtherDoor(server, tls !== undefined)
      await listening(door, place)
      furtherDoors.push(door)
    },
    listenForOwner: (path) => listening(ownerServer, { path }),
    closeForOwner: () => closed(ownerServer),
    useCertificate(next) {
      replaceCertificate(server, next)
      certificateEnd = endOf(next)
    },
    async drain(timeoutMs) {
      isDraining = true
      const allClosed = Promise.all([server, ownerServer, ...furtherDoors].map(closed))
      const deadline = setTimeout(() => connections.destroyAll(), timeoutMs)
      await allClosed
      clearTimeout(deadline)
    },
  }
}

/** When a certificate ends, in seconds since 1970. */
function endOf({ cert }: TlsTexts): number {
  return new X509Certificate(cert).validToDate.getTime() / 1000
}

/** Hands over what a server reads: requests, and what is none. */
function handOver(
  server: Server,
  receive: RequestListener,
  { refuseTunnel, refuseUnreadable }: ReturnType<typeof createRawRefusals>,
): void {
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, receive)
  server.on('connect', (_, socket: Socket) => refuseTunnel(socket))
  server.on('clientError', refuseUnreadable)
}

async function listening(server: NetServer, place: Place): Promise<void> {
  server.listen(place)
  await once(server, 'listening')
}

/** Resolves when the last connection has ended; at once if the server does not listen. */
function closed(server: NetServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

/**
 * Finds how many connections may be open at once, so that there is memory for more than them, and descriptors stay free
 * for files, such as a snapshot. Only Linux tells of descriptors.
 *
 * @param isTls Whether they speak TLS.
 * @param bytes Memory for all of them.
 * @returns `openFiles` is the limit on open files, absent unless it lowers `connections`.
 */
export function findConnectionsLimit(
  isTls: boolean,
  bytes = shareOf('connections'),
): { connections: number; openFiles?: number } {
  const forMemory = Math.floor(bytes / (isTls ? TLS_CONNECTION_BYTES : PLAIN_CONNECTION_BYTES))
  const connections = Math.min(CONNECTIONS_MAX, forMemory)
  const openFiles = findOpenFilesMax()
  if (openFiles === undefined) return { connections }
  const free = openFiles - readdirSync('/proc/self/fd').length - DESCRIPTORS_RESERVED
  return free >= connections ? { connections } : { connections: Math.max(1, free), openFiles }
}

/** The soft limit, which Node raises to the hard one at its start. */
function findOpenFilesMax(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
