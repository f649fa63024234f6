import type { IncomingHttpHeaders } from 'node:http'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query, encoded; without the base path. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The pieces are only read, so that the call can be repeated. */
  readonly body?: readonly Uint8Array[]
}

export interface ResponseHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

export interface ClientResponse extends ResponseHead {
  readonly text: string
}

/** An answer whose body is still on its way. */
export interface OpenResponse extends ResponseHead {
  /** Can be read once. Whoever leaves it early ends the connection. @throws {NoAnswerError} if the body ends early. */
  readonly body: AsyncIterable<Buffer>
}

export interface CallOptions {
  /** How long the server may be silent while it is waited for. */
  readonly silenceMs?: number
  /** Ends the call, and the body of its answer. */
  readonly signal?: AbortSignal
}
