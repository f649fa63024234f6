import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { callerKey, type Principal, type Request, type VerifiedCredential } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import {
  BodyMeter,
  countUntakenPieces,
  incompleteBody,
  type Reject,
  readByPieces,
  readWhole,
  tooLarge,
} from './body-reading.ts'
import { originFormOf } from './framing.ts'
import type { Origin } from './proxy-trust.ts'

/** Between looks whether a client that sends nothing more still waits for a long answer. */
export const HALF_CLOSED_PROBE_MS = 250
/** Longer bodies are parsed in turns, so that they delay nobody. */
const BODY_AT_ONCE_BYTES_MAX = 8 * 1024

const noBody: Buffer = Buffer.alloc(0)

type ReadBody<Body> = (incoming: IncomingMessage, resolve: (body: Body) => void, reject: Reject) => void

/** What the reading of bodies needs. */
export interface BodyParts {
  readonly scheduler: ShortWorkScheduler
  /** Counts memory that a request holds, until the function returned is called. */
  readonly arriving: { add(request: IncomingRequest, bytes: number): () => void }
}

/** A request as Node has parsed it. */
export class IncomingRequest implements Request {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  readonly address: string
  readonly isSecure: boolean
  readonly forwardedHost: string | undefined
  readonly isOwner: boolean | undefined
  principal?: Principal
  credential?: VerifiedCredential
  pattern?: string
  /** Start of its handling, by `elapsedInTurn`. */
  beganMs = 0
  checkAgain?: (this: Request) => void
  isWaiting?: boolean
  readonly response: ServerResponse
  readonly #incoming: IncomingMessage
  readonly #parts: BodyParts
  #gone: GoneSignal | undefined
  #isFollowed = false
  #progress: BodyMeter | undefined
  #isContinued = false
  #breakage: Problem | undefined
  #refuseBody: Reject | undefined

  constructor(
    incoming: IncomingMessage,
    response: ServerResponse,
    origin: Origin,
    requestId: string,
    parts: BodyParts,
  ) {
    const { url = '', method = '', headers } = incoming
    // What has no origin form is refused before anything looks at its path.
    const target = originFormOf(url, method, headers.host) ?? url
    const mark = target.indexOf('?')
    this.method = method
    this.path = mark === -1 ? target : target.slice(0, mark)
    this.query = mark === -1 ? '' : target.slice(mark + 1)
    this.headers = headers
    this.requestId = requestId
    this.address = origin.address
    this.isSecure = origin.isSecure
    this.forwardedHost = origin.forwardedHost
    this.isOwner = origin.isOwner
    this.response = response
    this.#incoming = incoming
    this.#parts = parts
    if (headers['transfer-encoding'] !== undefined)
      countUntakenPieces(incoming, (bytes) => parts.arriving.add(this, bytes))
  }

  /** Made at the first use: only imports need it. */
  get progress(): BodyMeter {
    this.#progress ??= new BodyMeter()
    return this.#progress
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = watchForEnd(this.response)
      if (this.#isFollowed) this.#gone.probe()
    }
    return this.#gone.signal
  }

  /** Another request has come behind this one, so the connection is not read until this one is answered. */
  follow(): void {
    this.#isFollowed = true
    this.#gone?.probe()
  }

  /** Whether the connection must end, because the rest of the body is refused. Node drains a short one by itself. */
  get isBodyRefused(): boolean {
    if (this.#breakage !== undefined) return true
    if (!this.#hasBody || this.#incoming.complete) return false
    const { 'content-length': length, 'transfer-encoding': coding } = this.headers
    return coding !== undefined || Number(length) > BODY_BYTES_MAX || this.#isHeldBack
  }

  async readBody(): Promise<Buffer> {
    const hold = (bytes: number) => this.#parts.arriving.add(this, bytes)
    const body = await this.#receive(noBody, BODY_BYTES_MAX, (incoming, resolve, reject) =>
      readWhole(incoming, hold, resolve, reject),
    )
    if (body.length > BODY_AT_ONCE_BYTES_MAX) await this.#takeTurn(() => {})
    this.checkAgain?.()
    return body
  }

  async readPieces(bytesMax: number, take: (piece: Buffer) => void): Promise<void> {
    const takeIfAllowed = (piece: Buffer) => {
      this.checkAgain?.()
      take(piece)
    }
    const takeTurn = (work: () => void) => this.#takeTurn(work)
    await this.#receive<void>(undefined, bytesMax, (incoming, resolve, reject) =>
      readByPieces(incoming, bytesMax, takeIfAllowed, this.progress, takeTurn, resolve, reject),
    )
    this.checkAgain?.()
  }

  #takeTurn(work: () => void): Promise<void> {
    return this.#parts.scheduler.once(callerKey(this), work)
  }

  /** Reads the body, after a 100 (Continue) if the client waits for one. Without a body, Node emits no `end`. */
  #receive<Body>(withoutBody: Body, bytesMax: number, read: ReadBody<Body>): Promise<Body> {
    const { promise, resolve, reject } = Promise.withResolvers<Body>()
    if (!this.#hasBody) resolve(withoutBody)
    // The connection has ended while the handler waited, and no event will follow.
    else if (this.#incoming.destroyed) reject(incompleteBody())
    else if (Number(this.headers['content-length'] ?? 0) > bytesMax) reject(tooLarge(bytesMax))
    else {
      if (this.#isHeldBack) {
        this.#isContinued = true
        this.response.writeContinue()
      }
      const refuse = (error: unknown) => {
        // What follows is not run, even if all of the body has been read by then.
        if (error instanceof Problem && error.code === 'body_too_large') this.#breakage ??= error
        reject(error)
      }
      this.#refuseBody = refuse
      if (this.#breakage === undefined) read(this.#incoming, resolve, refuse)
      else reject(this.#breakage)
    }
    return promise
  }

  /** Whether the whole request has arrived. */
  get isComplete(): boolean {
    return this.#incoming.complete
  }

  /** Fails the reading of the body, now or later: the rest of it cannot be parsed. */
  breakOff(problem: Problem): void {
    this.#breakage = problem
    this.#refuseBody?.(problem)
  }

  get #hasBody(): boolean {
    return this.headers['content-length'] !== undefined || this.headers['transfer-encoding'] !== undefined
  }

  /** Whether the client waits for a 100 (Continue), which HTTP/1.0 does not know (RFC 9110 section 10.1.1). */
  get #isHeldBack(): boolean {
    if (this.headers.expect === undefined || this.#isContinued) return false
    return this.#hasBody && this.#incoming.httpVersion !== '1.0'
  }
}

const SANE = /^[\w.:/+=@-]{1,128}$/

/** Makes ids for answers and logs: the caller's `X-Request-Id` if it is safe, else one unique across processes. */
export function createRequestIds(): (header: string | readonly string[] | undefined) => string {
  const prefix = randomBytes(6).toString('base64url')
  let count = 0
  return (header) => {
    if (typeof header === 'string' && SANE.test(header)) return header
    count += 1
    return `${prefix}-${count}`
  }
}

interface GoneSignal {
  /** Aborted when the connection closes. */
  readonly signal: AbortSignal
  /** Begins to probe the connection. Needed once nothing reads from it: its end would go unnoticed. */
  probe(): void
}

/**
 * Watches the connection of an answer.
 *
 * A client that has sent its last byte may still wait for the answer, or be gone: TCP tells them apart only when
 * something is sent. So it gets a 102 (Processing) now and then until the answer begins, which a client that waits
 * skips (RFC 9110 section 15.2). HTTP/1.0 has no such answers.
 */
export function watchForEnd(response: ServerResponse): GoneSignal {
  const controller = new AbortController()
  const { socket, httpVersion } = response.req
  const gone = () =>
    controller.abort(new Problem('client_gone', 'The connection ended before the answer was ready'))
  let timer: NodeJS.Timeout | undefined
  const repeat = () => {
    if (response.headersSent || response.closed) return
    response.writeProcessing()
    timer = setTimeout(repeat, HALF_CLOSED_PROBE_MS)
  }
  const probe = () => {
    if (timer === undefined && httpVersion !== '1.0') repeat()
  }
  const watched = { signal: controller.signal, probe }
  if (response.closed || socket.destroyed) {
    gone()
    return watched
  }
  response.once('close', () => {
    clearTimeout(timer)
    socket.off('end', probe)
    gone()
  })
  if (socket.readableEnded) probe()
  else socket.once('end', probe)
  return watched
}
