import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConnbookError, systemCode } from '../errors.ts'
import { CALL_ANSWER_BYTES_MAX, CALL_SILENCE_MS } from '../limits.ts'

/** Nobody listens, or this account may not connect; nothing was sent. */
export class UnreachableError extends ConnbookError {
  readonly code = 'unreachable'
}

/** The connection ended, or the server was silent for too long: whether the call was done is not known. */
export class NoAnswerError extends ConnbookError {
  readonly code = 'no_answer'
}

export interface Call {
  readonly method: 'GET' | 'POST'
  /** With its query, encoded. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The pieces are only read, so that the call can be repeated. */
  readonly body?: readonly Uint8Array[]
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/**
 * Calls a server on a Unix socket. Sends a body only once the server wants it.
 *
 * @param silenceMs How long the server may be silent.
 * @throws {UnreachableError} {NoAnswerError}
 */
export async function callOnSocket(
  socketPath: string,
  { method, path, headers = {}, body }: Call,
  silenceMs = CALL_SILENCE_MS,
): Promise<Answer> {
  const length = body?.reduce((bytes, piece) => bytes + piece.length, 0)
  const ofBody = length === undefined ? {} : { 'Content-Length': length, Expect: '100-continue' }
  const outgoing = request({
    socketPath,
    method,
    path,
    agent: false,
    setHost: false,
    headers: { Host: 'localhost', ...headers, ...ofBody },
  })
  try {
    return await exchange(outgoing, body, silenceMs)
  } catch (error) {
    const reason = systemCode(error) ?? String(error)
    if (error instanceof NoAnswerError) throw error
    if (outgoing.socket?.connecting !== false || isRefused(reason))
      throw new UnreachableError(`Cannot connect to "${socketPath}" (${reason})`, { cause: error })
    throw new NoAnswerError(`The server on "${socketPath}" gave no answer (${reason})`, { cause: error })
  } finally {
    outgoing.destroy()
  }
}

function isRefused(code: string): boolean {
  return ['ECONNREFUSED', 'ENOENT', 'EACCES', 'ENOTSOCK'].includes(code)
}

async function exchange(
  outgoing: ClientRequest,
  body: readonly Uint8Array[] | undefined,
  silenceMs: number,
): Promise<Answer> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  // An answer before the end of the body ends the sending: then the error of the sending says nothing.
  outgoing.on('error', reject)
  outgoing.setTimeout(silenceMs, () => {
    outgoing.destroy(new NoAnswerError(`The server was silent for ${silenceMs / 1000} s`))
  })
  if (body === undefined) outgoing.end()
  else {
    outgoing.flushHeaders()
    outgoing.once('continue', () => void pipeline(Readable.from(body), outgoing).catch(() => {}))
  }
  const incoming = await answered
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: await readText(incoming),
  }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > CALL_ANSWER_BYTES_MAX)
      throw new NoAnswerError(`The answer is longer than ${CALL_ANSWER_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
