import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../json.ts'
import { Problem } from './problem.ts'
import type { Scope } from './scope.ts'
import { trimBlanks } from './white-space.ts'

/** Who calls, as far as HTTP is concerned. */
export interface Principal {
  readonly kind: 'user' | 'client'
  readonly name: string
  /** What the credential may do, which may be less than its account may. */
  readonly scope: Scope
}

/** Where a request comes from. */
export interface Caller {
  /** What the answer and the logs call the request. */
  readonly requestId: string
  /** Without a port; behind a trusted proxy, what that says. */
  readonly address: string
  /** Whether it came over TLS, here or at a trusted proxy. */
  readonly isSecure: boolean
  /** Known once the caller is authenticated. */
  principal?: Principal
}

/** The head of a request; its body is read when somebody asks for it. */
export interface Request extends Caller {
  readonly method: string
  /** Still percent-encoded, without the query. */
  readonly path: string
  /** What stands behind the first `?`; empty without one. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** The path of the route that was found, such as `/things/:name`; undefined when nothing is there. */
  pattern?: string
  /**
   * Checks the caller again when the body has come, which may be long after the head.
   *
   * @returns A promise that rejects if the credential has ended meanwhile; undefined if it has not.
   */
  checkAgain?: () => Promise<never> | undefined
  /**
   * The whole body.
   *
   * @throws {Problem} 413 if it is longer than BODY_BYTES_MAX, from its Content-Length where there is one.
   */
  readBody(): Promise<Buffer>
  /**
   * Hands a long body over piece by piece, while others have their turn.
   *
   * @param take Called in turn; what it throws ends the reading. Its piece is only valid during the call.
   * @throws {Problem} 413 if the body is longer than `bytesMax`, from its Content-Length where there is one, before
   *   anything is handed over.
   */
  readPieces(bytesMax: number, take: (piece: Buffer) => void): Promise<void>
}

/** An answer as a value: only the listener touches a socket. */
export interface Reply {
  readonly status: number
  /** Reason phrase, where the registered one will not do. */
  readonly reason?: string
  /** They replace what every answer carries, such as `Content-Security-Policy`, whatever the case of their names. */
  readonly headers: Record<string, string>
  /**
   * Pieces are sent as the client takes them. With `Content-Length` among the headers they must be as long; without,
   * they are sent in chunks, or in HTTP/1.0 until the connection closes. HEAD asks for none of them.
   *
   * When the client goes, the iterator's `return` is called, and has to end a `next` that still waits. An error cuts
   * the connection.
   */
  readonly body?: string | Iterable<string> | AsyncIterable<string>
}

export const JSON_TYPE = 'application/json; charset=utf-8'

const CURL_ADVICE = "send JSON, for example with curl --json '{…}' (or -H 'Content-Type: application/json')"
const jsonMediaType: MediaType = { essence: 'application/json', charset: undefined }
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** No cache keeps it. */
export function textReply(status: number, body: string, headers: Reply['headers'] = {}): Reply {
  const usual = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status, headers: { ...usual, ...headers }, body }
}

/** No cache keeps it. */
export function jsonReply(status: number, value: unknown, headers: Reply['headers'] = {}): Reply {
  return textReply(status, JSON.stringify(value), { 'Content-Type': JSON_TYPE, ...headers })
}

/** Type and subtype in lower case, and the charset where one is named (RFC 9110 section 8.3). */
export interface MediaType {
  readonly essence: string
  readonly charset: string | undefined
}

export function parseMediaType(header: string | undefined): MediaType | undefined {
  if (header === 'application/json') return jsonMediaType
  if (header === undefined || trimBlanks(header) === '') return undefined
  const [essence = '', ...parameters] = header.split(';').map(trimBlanks)
  const charset = parameters
    .map((part) => /^charset="?([^"]*)"?$/i.exec(part)?.[1])
    .find((value) => value !== undefined)
  return { essence: essence.toLowerCase(), charset: charset?.toLowerCase() }
}

export function isJsonType(type: MediaType): boolean {
  return type.essence === 'application/json' || /^[\w.!#$&^-]+\/[\w.!#$&^-]*\+json$/.test(type.essence)
}

/**
 * Reads a body that is a JSON object.
 *
 * A body without a type, with curl's default type or as plain text is read as JSON, too: people try an API so.
 *
 * @throws {Problem} 413, 415 or 400, in this order.
 */
export async function readJsonObject(request: Request): Promise<Record<string, unknown>> {
  const body = await request.readBody()
  const type = checkBodyType(request, ['application/x-www-form-urlencoded', 'text/plain'])
  if (body.length === 0) throw new Problem(400, 'empty_body', `The body is empty; ${CURL_ADVICE}`)
  const input = parseJson(decodeUtf8(body), type === undefined || !isJsonType(type) ? 415 : 400)
  if (!isObject(input)) throw new Problem(400, 'not_an_object', 'The body must be a JSON object')
  return input
}

/**
 * Checks Content-Type and Content-Encoding of a body.
 *
 * @param others The types that are taken beside JSON's.
 * @throws {Problem} 415.
 */
export function checkBodyType(request: Request, others: readonly string[]): MediaType | undefined {
  const { 'content-type': header, 'content-encoding': encoding } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Problem(
      415,
      'unsupported_encoding',
      `Cannot read a body with Content-Encoding "${encoding}"; send it plain`,
    )
  }
  const type = parseMediaType(header)
  if (type === undefined) return undefined
  if (!isJsonType(type) && !others.includes(type.essence)) {
    throw new Problem(415, 'unsupported_type', `Cannot read a body of type "${type.essence}"; ${CURL_ADVICE}`)
  }
  if (type.charset !== undefined && type.charset !== 'utf-8' && type.charset !== 'utf8') {
    throw new Problem(
      415,
      'unsupported_charset',
      `Cannot read a body in charset "${type.charset}"; send UTF-8`,
    )
  }
  return type
}

/** @throws {Problem} 400. */
export function decodeUtf8(body: Buffer): string {
  try {
    return strictUtf8.decode(body)
  } catch {
    throw new Problem(400, 'invalid_utf8', 'The body is not valid UTF-8')
  }
}

function parseJson(text: string, status: 400 | 415): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (status === 415) throw new Problem(415, 'unsupported_type', `The body is not JSON; ${CURL_ADVICE}`)
    const reason = error instanceof Error ? error.message : ''
    throw new Problem(400, 'invalid_json', `The body is not valid JSON: ${reason}`)
  }
}
