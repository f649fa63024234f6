import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Principal, Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import {
  BODY_AT_ONCE_BYTES_MAX,
  BODY_BYTES_MAX,
  BODY_PIECES_HELD_MAX,
  BODY_PIECES_MAX,
  IMPORT_PIECE_BYTES,
} from '../limits.ts'
import type { Origin } from './proxy-trust.ts'
import type { Turns } from './turns.ts'

const noBody = Buffer.alloc(0)

/** A request as Node has parsed it. */
export class IncomingRequest implements Request {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  readonly address: string
  readonly isSecure: boolean
  principal?: Principal
  pattern?: string
  /** When it began to be answered, by `performance.now()`. */
  beganMs = 0
  checkAgain?: () => Promise<never> | undefined
  readonly response: ServerResponse
  readonly #incoming: IncomingMessage
  readonly #turns: Turns
  #isContinued = false
  #breakage: Problem | undefined
  #refuseBody: ((problem: Problem) => void) | undefined

  /** @param turns For bodies that take long to read. */
  constructor(
    incoming: IncomingMessage,
    response: ServerResponse,
    origin: Origin,
    requestId: string,
    turns: Turns,
  ) {
    const target = incoming.url ?? ''
    const mark = target.indexOf('?')
    this.method = incoming.method ?? ''
    this.path = mark === -1 ? target : target.slice(0, mark)
    this.query = mark === -1 ? '' : target.slice(mark + 1)
    this.headers = incoming.headers
    this.requestId = requestId
    this.address = origin.address
    this.isSecure = origin.isSecure
    this.response = response
    this.#incoming = incoming
    this.#turns = turns
  }

  /**
   * Whether a body is still to come that is not worth waiting for, so that the connection has to end. One that is
   * short by its own account is read and thrown away by Node, and the connection goes on.
   */
  get isBodyRefused(): boolean {
    if (this.#breakage !== undefined) return true
    if (!this.#hasBody || this.#incoming.complete) return false
    const { 'content-length': length, 'transfer-encoding': coding } = this.headers
    return coding !== undefined || Number(length) > BODY_BYTES_MAX || this.#isHeldBack
  }

  async readBody(): Promise<Buffer> {
    const body = await this.#collectBody()
    if (body.length > BODY_AT_ONCE_BYTES_MAX) await new Promise<void>(this.#turns)
    const refusal = this.checkAgain?.()
    if (refusal !== undefined) await refusal
    return body
  }

  async readPieces(bytesMax: number, take: (piece: Buffer) => void): Promise<void> {
    if (this.#hasBody) {
      if (Number(this.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
      this.#askForBody()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#refuseBody = reject
      if (this.#breakage === undefined) handOver(this.#incoming, bytesMax, take, this.#turns, resolve, reject)
      else reject(this.#breakage)
      await promise
    }
    const refusal = this.checkAgain?.()
    if (refusal !== undefined) await refusal
  }

  #askForBody() {
    if (!this.#isHeldBack) return
    this.#isContinued = true
    this.response.writeContinue()
  }

  #collectBody(): Promise<Buffer> {
    // Node tells of no end where nothing can come.
    if (!this.#hasBody) return Promise.resolve(noBody)
    if (Number(this.headers['content-length'] ?? 0) > BODY_BYTES_MAX)
      return Promise.reject(tooLarge(BODY_BYTES_MAX))
    this.#askForBody()
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    this.#refuseBody = reject
    if (this.#breakage === undefined) collect(this.#incoming, resolve, reject)
    else reject(this.#breakage)
    return promise
  }

  /** Whether everything that belongs to the request has come. */
  get isComplete(): boolean {
    return this.#incoming.complete
  }

  /** Tells that the rest of the body cannot be read; whoever waits for it, now or later, is told why. */
  breakOff(problem: Problem): void {
    this.#breakage = problem
    this.#refuseBody?.(problem)
  }

  get #hasBody(): boolean {
    return this.headers['content-length'] !== undefined || this.headers['transfer-encoding'] !== undefined
  }

  /** Whether the client waits to be asked for the body, which HTTP/1.0 does not know (RFC 9110 section 10.1.1). */
  get #isHeldBack(): boolean {
    if (this.headers.expect === undefined || this.#isContinued) return false
    return this.#hasBody && this.#incoming.httpVersion !== '1.0'
  }
}

function collect(
  incoming: IncomingMessage,
  resolve: (body: Buffer) => void,
  reject: (problem: Problem) => void,
): void {
  let chunks: Buffer[] = []
  let bytes = 0
  let pieces = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    pieces += 1
    if (bytes <= BODY_BYTES_MAX && pieces <= BODY_PIECES_MAX) {
      // A body of one-byte chunks would otherwise take hundreds of times its length.
      if (chunks.length === BODY_PIECES_HELD_MAX) chunks = [Buffer.concat(chunks)]
      chunks.push(chunk)
      return
    }
    incoming.off('data', onData)
    if (bytes > BODY_BYTES_MAX) return reject(tooLarge(BODY_BYTES_MAX))
    reject(inTooManyPieces())
    // No answer: the parser goes through the rest of what was read at once only when the socket is gone.
    incoming.destroy()
  }
  incoming.on('data', onData)
  incoming.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
  incoming.once('error', () => reject(incompleteBody()))
}

/** No more comes in than is taken. */
function handOver(
  incoming: IncomingMessage,
  bytesMax: number,
  take: (piece: Buffer) => void,
  turns: Turns,
  resolve: () => void,
  reject: (error: unknown) => void,
): void {
  let bytes = 0
  let isTaking = false
  // The end may be told before the last piece has had its turn.
  let hasEnded = false
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    isTaking = true
    incoming.pause()
    takeFrom(chunk, 0)
  }
  const takeFrom = (chunk: Buffer, start: number) => {
    turns(() => {
      const end = start + IMPORT_PIECE_BYTES
      try {
        if (bytes > bytesMax) throw tooLarge(bytesMax)
        take(chunk.subarray(start, end))
        if (end < chunk.length) return takeFrom(chunk, end)
      } catch (error) {
        incoming.off('data', onData)
        reject(error)
      }
      isTaking = false
      if (hasEnded) resolve()
      incoming.resume()
    })
  }
  incoming.on('data', onData)
  incoming.once('end', () => {
    hasEnded = true
    if (!isTaking) resolve()
  })
  incoming.once('error', () => reject(incompleteBody()))
}

function tooLarge(bytesMax: number): Problem {
  return new Problem(413, 'body_too_large', `The body is longer than ${bytesMax} bytes`)
}

function inTooManyPieces(): Problem {
  return new Problem(413, 'body_too_large', `The body comes in more than ${BODY_PIECES_MAX} pieces`)
}

/** Nobody will see this answer: the connection ended before the body did. */
function incompleteBody(): Problem {
  return new Problem(400, 'incomplete_body', 'The body ended before its time')
}
