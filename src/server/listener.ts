import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
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
/** How long a drain waits for the request of a command that has just connected: it could not tell whether that was read. */
const OWNER_GRACE_MS = 500
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

/** For browsers, answers are data: nothing in them runs or is framed, and their URL is not sent as a referrer. */
const PROTECTIVE_HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['Referrer-Policy', 'no-referrer'],
]

/** Only over our own TLS: plain HTTP must not carry it (RFC 6797 section 7.2). */
const TLS_HEADERS = ['Strict-Transport-Security', 'max-age=31536000']

/** Turns sockets into requests, and replies into bytes. */
export class Listener {
  readonly #log: Log
  readonly #limit: ReturnType<typeof findConnectionsLimit>
  readonly #connections: Connections
  /** For everybody: the network, or the Unix socket of `listen`. */
  readonly #server: Server
  readonly #isTls: boolean
  readonly #furtherDoors: NetServer[] = []
  readonly #ownerServer = createHttpServer(undefined)
  /** Address given to peers on a Unix socket; undefined on TCP. */
  #peerAddress: string | undefined
  #ownersAccepted = 0
  #isDraining = false
  /** In seconds since 1970; undefined over plain HTTP. */
  #certificateEnd: number | undefined
  readonly metrics: readonly Family[]

  constructor(options: ListenerOptions) {
    const { scheduler, log, tls } = options
    this.#log = log
    this.#isTls = tls !== undefined
    this.#limit = findConnectionsLimit(this.#isTls)
    this.#server = createHttpServer(tls)
    this.#certificateEnd = tls && endOf(tls)
    const metrics = new RequestMetrics()
    const cutOff = createCutOff(log, metrics)
    const { connections: count } = this.#limit
    this.#connections = new Connections(count, (quietest) =>
      cutOff(quietest, `there are ${count} connections, and it was quiet for longest`),
    )
    const parts = makeParts(options, this.#connections, metrics, cutOff)
    if (tls !== undefined) beginInTurns(this.#server, scheduler)
    this.#serve(options, parts)
    this.#accept(parts.intake, scheduler)
    this.metrics = [
      ...metrics.families,
      gauge('connbook_http_connections', 'Open connections.', () => this.#connections.count),
      gauge(
        'connbook_certificate_end_timestamp_seconds',
        'When the certificate of the server ends, in seconds since 1970; none over plain HTTP.',
        () => this.#certificateEnd,
      ),
    ]
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** @returns The address listened on; undefined for a Unix socket. */
  async listen(place: Place): Promise<AddressInfo | undefined> {
    const { connections, openFiles } = this.#limit
    if (openFiles !== undefined) this.#log.warn('connections_limited', { connections, open_files: openFiles })
    await listening(this.#server, place)
    const address = this.#server.address()
    if (address !== null && typeof address === 'object') return address
    this.#peerAddress = UNIX_PEER
    return undefined
  }

  /** Listens on one more address, after `listen`. */
  async listenAlso(place: { readonly port: number; readonly host: string }): Promise<void> {
    const door = createFurtherDoor(this.#server, this.#isTls)
    await listening(door, place)
    this.#furtherDoors.push(door)
  }

  /** Makes the owner's socket: all who connect there are the owner of the data folder. Its file goes when it closes. */
  async listenForOwner(path: string): Promise<void> {
    await listening(this.#ownerServer, { path })
  }

  /**
   * Resolves once everybody is accepted who has connected to the owner's socket: closing it cuts off those who still wait for
   * that, and they could not tell whether their call was made. Its file must have gone, so that nobody else connects.
   */
  async acceptOwners(): Promise<void> {
    for (let before = -1; before !== this.#ownersAccepted; ) {
      before = this.#ownersAccepted
      // Each turn of the event loop accepts one, and this turn may be past that.
      await nextTurn()
      await nextTurn()
    }
  }

  async closeForOwner(): Promise<void> {
    await closed(this.#ownerServer)
  }

  /**
   * New connections get this certificate; open ones keep theirs. TLS sessions of the old one are not resumed.
   *
   * @param tls The key must belong to the chain; this is not checked here.
   * @throws {Error} if the listener speaks plain HTTP, or OpenSSL cannot use the texts; nothing has changed.
   */
  useCertificate(tls: TlsTexts): void {
    replaceCertificate(this.#server, tls)
    this.#certificateEnd = endOf(tls)
  }

  /** Stops accepting, answers requests in flight, and destroys what is left after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true
    const owner = closed(this.#ownerServer, NetServer.prototype.close)
    const allClosed = Promise.all([
      owner,
      ...[this.#server, ...this.#furtherDoors].map((each) => closed(each)),
    ])
    const deadline = setTimeout(() => this.#connections.destroyAll(), timeoutMs)
    const grace = setTimeout(() => this.#ownerServer.close(), OWNER_GRACE_MS)
    await allClosed
    clearTimeout(deadline)
    clearTimeout(grace)
  }

  /** Hands the requests of both servers to their applications. */
  #serve({ app, ownerApp = app, hasAccessLog, trustedProxies }: ListenerOptions, parts: ListenerParts): void {
    // What the owner's socket answers does not come over TLS.
    const ownerParts: ListenerParts = { ...parts, fixedHeaders: PROTECTIVE_HEADERS }
    const answerAll = createAnswering(parts, app, this.#server, hasAccessLog)
    const answerOwner = createAnswering(ownerParts, ownerApp, this.#ownerServer, hasAccessLog)
    const receive = createRequestOrder(parts, trustedProxies, (incoming, request, connection) => {
      if (request.isOwner) answerOwner(incoming, request, connection)
      else answerAll(incoming, request, connection)
    })
    handOver(this.#server, receive, createRawRefusals(parts))
    handOver(this.#ownerServer, receive, createRawRefusals(ownerParts))
  }

  #accept(intake: Intake, scheduler: Pick<Scheduler, 'giveWay'>): void {
    this.#server.on('connection', (socket: Socket) => {
      this.#connections.add(socket, this.#peerAddress)
      intake.add(socket)
      scheduler.giveWay()
    })
    this.#server.on('secureConnection', (socket: Socket) => {
      this.#connections.join(socket)
      intake.add(socket)
    })
    this.#ownerServer.on('connection', (socket: Socket) => {
      this.#ownersAccepted += 1
      this.#connections.add(socket, UNIX_PEER, true)
      intake.add(socket)
    })
  }
}

function makeParts(
  { scheduler, log, tls }: ListenerOptions,
  connections: Connections,
  metrics: RequestMetrics,
  cutOff: ListenerParts['cutOff'],
): ListenerParts {
  const heldBytes = (share: Parameters<typeof shareOf>[0], what: string) =>
    new HeldBytes(shareOf(share), connections, cutOff, what)
  const waiting = heldBytes('waiting', 'requests that wait for an earlier one')
  return {
    connections,
    intake: new Intake(connections, waiting, scheduler),
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
}

/** When a certificate ends, in seconds since 1970. */
function endOf({ cert }: TlsTexts): number {
  return new X509Certificate(cert).validToDate.getTime() / 1000
}

/** Hands over what a server reads: requests, and what is not a request. */
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

/**
 * Resolves when the last connection has ended; at once if the server does not listen.
 *
 * @param close That of `NetServer` leaves open what has no request yet.
 */
function closed(server: NetServer, close = server.close): Promise<void> {
  return new Promise((resolve) => close.call(server, () => resolve()))
}

/**
 * Finds how many connections may be open at once, so that there is memory for more than them, and descriptors stay free
 * for files, such as a snapshot. Only Linux shows how many descriptors there may be.
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
