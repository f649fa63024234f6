import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Principal, Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { BODY_BYTES_MAX } from '../limits.ts'

/** A request as Node has parsed it. */
export class IncomingRequest implements Request {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  principal?: Principal
  readonly #incoming: IncomingMessage
  readonly #response: ServerResponse
  #isContinued = false

  constructor(incoming: IncomingMessage, response: ServerResponse) {
    const target = incoming.url ?? ''
    const mark = target.indexOf('?')
    this.method = incoming.method ?? ''
    this.path = mark === -1 ? target : target.slice(0, mark)
    this.query = mark === -1 ? '' : target.slice(mark + 1)
    this.headers = incoming.headers
    this.#incoming = incoming
    this.#response = response
  }

  /** A socket for both families shows IPv4 peers as mapped addresses (RFC 4291 section 2.5.5.2); they lose that. */
  get remoteAddress(): string {
    return (this.#incoming.socket.remoteAddress ?? '').replace(/^::ffff:/i, '')
  }

  /**
   * Whether a body is still to come that is not worth waiting for, so that the connection has to end. One that is
   * short by its own account is read and thrown away by Node, and the connection goes on.
   */
  get isBodyRefused(): boolean {
    const { 'content-length': length, 'transfer-encoding': coding, expect } = this.headers
    if (this.#incoming.complete || (length === undefined && coding === undefined)) return false
    const isHeldBack = expect !== undefined && !this.#isContinued
    return coding !== undefined || Number(length) > BODY_BYTES_MAX || isHeldBack
  }

  readBody(): Promise<Buffer> {
    if (Number(this.headers['content-length'] ?? 0) > BODY_BYTES_MAX) return Promise.reject(tooLarge())
    if (this.headers.expect !== undefined && !this.#isContinued) {
      this.#isContinued = true
      this.#response.writeContinue()
    }
    return collect(this.#incoming)
  }
}

function collect(incoming: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= BODY_BYTES_MAX) {
      chunks.push(chunk)
      return
    }
    incoming.off('data', onData)
    reject(tooLarge())
  }
  incoming.on('data', onData)
  incoming.once('end', () => resolve(Buffer.concat(chunks)))
  // Nobody will see this answer: the connection ended before the body did.
  incoming.once('error', () => reject(new Problem(400, 'incomplete_body', 'The body ended before its time')))
  return promise
}

function tooLarge(): Problem {
  return new Problem(413, 'body_too_large', `The body is longer than ${BODY_BYTES_MAX} bytes`)
}
