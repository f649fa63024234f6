import type { IncomingHttpHeaders } from 'node:http'
import type { ProblemCode } from '../error-types.ts'
import { isObject } from '../json.ts'
import { networkOf } from '../network.ts'
import { trimBlanks } from './header-fields.ts'
import { Problem } from './problem.ts'
import type { Scope } from './scope.ts'

const CRLF = Buffer.from('\r\n')

/** An authenticated caller. */
export type Principal = AccountPrincipal | CommandPrincipal

/** An account, by its credential. */
export interface AccountPrincipal {
  readonly kind: 'user' | 'client'
  readonly name: string
  /** What the credential may do; perhaps less than its account. */
  readonly scope: Scope
  /** The records that its account sees and may change, as `parseGrants` gives them; absent for all. */
  readonly grants?: readonly string[] | undefined
}

/** A command of the owner of the data folder, by the owner's socket. */
export interface CommandPrincipal {
  readonly kind: 'command'
  /** The system account that runs it. */
  readonly name: string
  /** Its words, without names: "user add". */
  readonly command: string
  /** Who used `sudo` for it, as that says; nothing proves it. */
  readonly claimed?: string
  readonly scope: Scope
  readonly grants?: undefined
}

/** A valid credential, or what stands for one. */
export interface VerifiedCredential {
  readonly principal: Principal
  /** `socket` is the owner's, which takes no credential. */
  readonly carrier: 'bearer' | 'cookie' | 'socket'
  /** In seconds since 1970; undefined for `socket`. */
  readonly expiresAt?: number
}

export interface Caller {
  /** Sent in the answer and logged. */
  readonly requestId: string
  /** Without a port; behind a trusted proxy, as it says. */
  readonly address: string
  /** Whether the request came over TLS, here or at a trusted proxy. */
  readonly isSecure: boolean
  /** The host, and perhaps the port, that the client named, as a trusted proxy says it; unchecked. */
  readonly forwardedHost?: string | undefined
  /** Set once the caller is authenticated; `checkAgain` brings it up to date. */
  principal?: Principal
}

/** Who is accountable for what a request takes of the server: the account, or, before it is known, the network. */
export function callerKey({ principal, address }: Pick<Caller, 'principal' | 'address'>): string {
  return principal === undefined ? networkOf(address) : `${principal.kind} ${principal.name}`
}

/** The head of a request; its body is read on demand. */
export interface Request extends Caller {
  readonly method: string
  /** Still percent-encoded, without the query. */
  readonly path: string
  /** What follows the first `?`; empty without one. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** Whether it came through the owner's socket; no header can say so. */
  readonly isOwner?: boolean | undefined
  /** Aborted when the connection goes, with a problem that nobody gets. Made at the first use: only long work needs it. */
  readonly signal: AbortSignal
  /** As it was when the head came; set with `principal`. */
  credential?: VerifiedCredential
  /** The `path` of the matched route, such as `/things/:name`. */
  pattern?: string
  /**
   * Judges again, as when the head came, whether the caller may do what the route does: a body takes its time to arrive, a
   * change to be decided, an answer to be sent. Sets `principal` to what the credential may do now. Set with `principal`.
   *
   * @throws {Problem} 403 if the credential has ended since, or has lost the scope that the route needs.
   */
  checkAgain?: (this: Request) => void
  /** Set while the answer waits for something to happen: then its connection is not quiet. */
  isWaiting?: boolean
  /**
   * @throws {Problem} 413 if the body exceeds BODY_BYTES_MAX; at once if Content-Length says so. Also if it comes in more
   *   than BODY_PIECES_MAX pieces; then the connection has ended, and nothing can be answered.
   */
  readBody(): Promise<Buffer>
  /**
   * Reads a long body piece by piece, in turns with other requests.
   *
   * @param take Its piece is only valid during the call; what it throws ends the reading.
   * @throws {Problem} 413 if the body exceeds `bytesMax`; before the first piece if Content-Length says so.
   */
  readPieces(bytesMax: number, take: (piece: Buffer) => void): Promise<void>
  /** How far the body has come, while it is read piece by piece. */
  readonly progress: BodyProgress
}

/** Whether the rest of an answer may be sent, whose first part was for an account with these grants. */
export function maySendMore(request: Request, grants: Principal['grants']): boolean {
  return isStillAllowed(request) && areSameGrants(grants, request.principal?.grants)
}

/** Whether `checkAgain` lets the request go on. */
function isStillAllowed(request: Request): boolean {
  try {
    request.checkAgain?.()
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** As `isStillAllowed`, for what stays open: also whether the caller may do neither more nor less than when the head came. */
export function isAsAdmitted(request: Request): boolean {
  if (!isStillAllowed(request)) return false
  const { principal: now } = request
  const admitted = request.credential?.principal
  if (admitted === undefined || admitted === now) return true
  return admitted.scope === now?.scope && areSameGrants(admitted.grants, now.grants)
}

/** Whether two accounts see the same records, and may change the same. */
export function areSameGrants(one: Principal['grants'], other: Principal['grants']): boolean {
  if (one === other) return true
  return one?.length === other?.length && one?.every((grant, i) => grant === other?.[i]) === true
}

/** How far a body has come. */
export interface BodyProgress {
  /** That have arrived. */
  readonly bytes: number
  /** How long the server has waited for the client, and had nothing of the body to work on. */
  readonly waitedMs: number
}

/** An answer as a value: only the listener touches a socket. */
export interface Reply {
  readonly status: number
  /** Reason phrase, if not the registered one. */
  readonly reason?: string
  /** They replace default headers, such as `Content-Security-Policy`, of the same name in any case. */
  readonly headers: Record<string, string>
  /** Values of `Set-Cookie`, the one header that comes several times. */
  readonly cookies?: readonly string[]
  /**
   * Pieces, of about STREAM_PIECE_CHARACTERS at most, are sent as the client takes them: as many bytes as a
   * `Content-Length` among the headers says; without one, in chunks, or in HTTP/1.0 until the connection closes. HEAD
   * takes none.
   *
   * If the client goes away, the iterator's `return` is called, and must end a pending `next`. An error cuts the
   * connection.
   *
   * A live body is sent as it comes, until the connection closes.
   */
  readonly body?: string | Uint8Array | Iterable<string> | AsyncIterable<string> | LiveBody
  /** Bytes of a `body` that is a string, if they are known already. */
  readonly bodyBytes?: number
  /** What a `body` in pieces keeps in memory, even once it is replaced. */
  readonly keeps?: KeptRecords
}

/** All records as they were at a revision. */
export interface KeptRecords {
  readonly revision: number
  readonly records: number
  /** Bytes of their JSON, together. */
  readonly jsonBytes: number
  /** Derived from these records for answers, and not part of them; answers may share it. */
  readonly noted?: Noted
}

/** Something that is made once of the records of a revision. */
export interface Noted {
  /** Its estimated memory. */
  readonly notedBytes: number
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

/** Type and subtype, and the charset if named, in lower case (RFC 9110 section 8.3). */
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
 * Reads a body that is a JSON object; also without a type, as plain text or of curl's default type: people try APIs so.
 *
 * @throws {Problem} 413, 415 or 400, in this order.
 */
export async function readJsonObject(request: Request): Promise<Record<string, unknown>> {
  const body = await request.readBody()
  const type = checkBodyType(request, ['application/x-www-form-urlencoded', 'text/plain'])
  if (body.length === 0) throw new Problem('empty_body', `The body is empty; ${CURL_ADVICE}`)
  const input = parseJson(decodeUtf8(body), type === undefined || !isJsonType(type) ? 415 : 400)
  if (!isObject(input)) throw new Problem('not_an_object', 'The body must be a JSON object')
  return input
}

/**
 * Checks that a body is not encoded, and its type JSON or one of the others.
 *
 * @throws {Problem} 415.
 */
export function checkBodyType(request: Request, others: readonly string[]): MediaType | undefined {
  const { 'content-type': header, 'content-encoding': encoding } = request.headers
  const unsupported = (code: ProblemCode, what: string) => new Problem(code, `Cannot read a body ${what}`)
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('unsupported_encoding', `with Content-Encoding "${encoding}"; send it plain`)
  const type = parseMediaType(header)
  if (type === undefined) return undefined
  const { essence, charset } = type
  if (!isJsonType(type) && !others.includes(essence))
    throw unsupported('unsupported_type', `of type "${essence}"; ${CURL_ADVICE}`)
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
    throw unsupported('unsupported_charset', `in charset "${charset}"; send UTF-8`)
  return type
}

/** @throws {Problem} 400. */
export function decodeUtf8(body: Buffer): string {
  try {
    return strictUtf8.decode(body)
  } catch {
    throw new Problem('invalid_utf8', 'The body is not valid UTF-8')
  }
}

function parseJson(text: string, status: 400 | 415): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (status === 415) throw new Problem('unsupported_type', `The body is not JSON; ${CURL_ADVICE}`)
    const reason = error instanceof Error ? error.message : ''
    throw new Problem('invalid_json', `The body is not valid JSON: ${reason}`)
  }
}

/** A body without an end of its own: what is sent is only known when it happens. */
export interface LiveBody {
  /** Called once. What it sends goes out together with the head. */
  begin(sink: LiveSink): void
  /** The client has taken all that was sent. */
  drained(): void
  /** The connection has closed, or the answer has ended. Called once. */
  closed(): void
}

/** Where a live body is sent to. */
export interface LiveSink {
  /** Sends a piece soon; does nothing once it has closed. The caller may share one piece between many. */
  send(piece: LivePiece): void
  /** False while the client takes too little; then `drained` is called later. */
  readonly hasRoom: boolean
  /** Bytes, ever, that this process has passed on. */
  readonly passedBytes: number
  /** Ends the answer and its connection, once everything is taken. */
  end(): void
  /** Ends the connection at once. */
  cut(): void
}

/** Bytes to be sent to one client or to many. They are framed once for all of them. */
export class LivePiece {
  readonly bytes: Buffer
  #chunk: Buffer | undefined

  /** @param bytes At least one: a chunk without any would end the answer. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The bytes as a chunk (RFC 9112 section 7.1). */
  get chunk(): Buffer {
    this.#chunk ??= Buffer.concat([Buffer.from(`${this.bytes.length.toString(16)}\r\n`), this.bytes, CRLF])
    return this.#chunk
  }
}
