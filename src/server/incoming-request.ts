import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  type BodyProgress,
  callerKey,
  type Principal,
  type Request,
  type VerifiedCredential,
} from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { BODY_BYTES_MAX, BODY_PIECES_HELD_MAX, BODY_PIECES_MAX } from '../limits.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import { originFormOf } from './framing.ts'
import { type GoneSignal, watchForEnd } from './gone-signal.ts'
import type { Origin } from './proxy-trust.ts'
import { countUntakenPieces } from './untaken-pieces.ts'

/** Read of an import before other requests have their turn. */
export const IMPORT_PIECE_BYTES = 8 * 1024
/** Longer bodies are parsed in turns, so that they delay nobody. */
const BODY_AT_ONCE_BYTES_MAX = 8 * 1024

const noBody: Buffer = Buffer.alloc(0)

/** What a body that arrives may grow by without being counted. */
const HELD_STEP_BYTES = 1024

type Reject = (error: unknown) => void
type Reading<Body> = (incoming: IncomingMessage, resolve: (body: Body) => void, reject: Reject) => void

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
      collect(incoming, hold, resolve, reject),
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
      handOver(incoming, bytesMax, takeIfAllowed, this.progress, takeTurn, resolve, reject),
    )
    this.checkAgain?.()
  }

  #takeTurn(work: () => void): Promise<void> {
    return this.#parts.scheduler.once(callerKey(this), work)
  }

  /** Reads the body, after a 100 (Continue) if the client waits for one. Without a body, Node emits no `end`. */
  #receive<Body>(withoutBody: Body, bytesMax: number, read: Reading<Body>): Promise<Body> {
    const { promise, resolve, reject } = Promise.withResolvers<Body>()
    if (!this.#hasBody) resolve(withoutBody)
    // The connection has ended while the handler waited, and no event will tell.
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

/** @param hold Counts memory until the function returned is called. */
function collect(
  incoming: IncomingMessage,
  hold: (bytes: number) => () => void,
  resolve: (body: Buffer) => void,
  reject: Reject,
): void {
  const length = Number(incoming.headers['content-length'])
  let release: (() => void) | undefined
  let chunks: Buffer[] = []
  let bytes = 0
  let held = 0
  let pieces = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    pieces += 1
    if (bytes <= BODY_BYTES_MAX && pieces <= BODY_PIECES_MAX) {
      // Many one-byte chunks would take hundreds of times their length in memory.
      if (chunks.length === BODY_PIECES_HELD_MAX) chunks = [Buffer.concat(chunks)]
      chunks.push(chunk)
      // Most bodies come in one piece.
      if (bytes === length) return
      // Not for each of many small pieces.
      if (pieces > BODY_PIECES_HELD_MAX && bytes - held < HELD_STEP_BYTES) return
      if (release === undefined) incoming.once('close', () => release?.())
      release?.()
      held = bytes
      release = hold(bytes)
      return
    }
    incoming.off('data', onData)
    if (bytes > BODY_BYTES_MAX) return reject(tooLarge(BODY_BYTES_MAX))
    reject(new Problem('body_too_large', `The body comes in more than ${BODY_PIECES_MAX} pieces`))
    // No answer: the parser skips the rest of what it has read only once the socket is gone.
    incoming.destroy()
  }
  incoming.on('data', onData)
  incoming.once('end', () => {
    release?.()
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  })
  incoming.once('error', () => reject(incompleteBody()))
}

/** Pauses the socket while a chunk is handled. */
function handOver(
  incoming: IncomingMessage,
  bytesMax: number,
  take: (piece: Buffer) => void,
  progress: BodyMeter,
  takeTurn: (work: () => void) => Promise<void>,
  resolve: () => void,
  reject: Reject,
): void {
  let isTaking = false
  // `end` may come before the last piece has had its turn.
  let hasEnded = false
  let isOver = false
  const onData = (chunk: Buffer) => {
    progress.arrive(chunk.length)
    isTaking = true
    incoming.pause()
    takeFrom(chunk, 0)
  }
  const takeFrom = (chunk: Buffer, start: number) => {
    void takeTurn(() => {
      // The client has gone.
      if (isOver) return
      const end = start + IMPORT_PIECE_BYTES
      try {
        if (progress.bytes > bytesMax) throw tooLarge(bytesMax)
        take(chunk.subarray(start, end))
        if (end < chunk.length) return takeFrom(chunk, end)
      } catch (error) {
        incoming.off('data', onData)
        reject(error)
      }
      isTaking = false
      if (hasEnded) resolve()
      else progress.wait()
      incoming.resume()
    })
  }
  progress.wait()
  incoming.on('data', onData)
  incoming.once('end', () => {
    hasEnded = true
    progress.arrive(0)
    if (!isTaking) resolve()
  })
  incoming.once('error', () => {
    isOver = true
    reject(incompleteBody())
  })
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('body_too_large', `The body is longer than ${bytesMax} bytes; send less at once`)
}

/** Never sent: the connection ended before the body did. */
function incompleteBody(): Problem {
  return new Problem('incomplete_body', 'The body ended before its time')
}

/** How the body of a request comes in. */
export class BodyMeter implements BodyProgress {
  #bytes = 0
  #waitedMs = 0
  #waitsSinceMs: number | undefined

  /** Bytes that have arrived. */
  get bytes(): number {
    return this.#bytes
  }

  /** How long the server has waited for the client, until now; not the time in which it was busy with what had arrived. */
  get waitedMs(): number {
    return this.#waitsSinceMs === undefined
      ? this.#waitedMs
      : this.#waitedMs + performance.now() - this.#waitsSinceMs
  }

  /** The server begins to wait for the client. */
  wait(): void {
    this.#waitsSinceMs ??= performance.now()
  }

  /** The wait is over: more has arrived, or nothing more comes. */
  arrive(bytes: number): void {
    this.#waitedMs = this.waitedMs
    this.#waitsSinceMs = undefined
    this.#bytes += bytes
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
