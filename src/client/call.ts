import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ConnbookError, systemCode } from '../errors.ts'
import type { FileSystem } from '../files/file-system.ts'
import { escapeHidden } from '../text.ts'
import type { Endpoint } from './endpoint.ts'
import type { Call, CallOptions, ClientResponse, OpenResponse } from './messages.ts'

/** How long a server may be silent before a command gives up. */
const CALL_SILENCE_MS = 30_000
/** A command sends a longer body only when the server wants it. */
const CALL_UNASKED_BYTES_MAX = 64 * 1024
/** How long a command waits for the server to want the body; then it sends it anyway. */
export const CALL_CONTINUE_MS = 3_000
/** A longer answer to a command is refused. The longest has the names of a trial import. */
export const CALL_ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** A certificate can have hundreds. */
const NAMES_SHOWN = 5

/** Nobody listens, or this account may not connect; nothing was sent. */
export class UnreachableError extends ConnbookError {
  readonly code = 'unreachable'
}

/** The certificate of a server is not trusted; nothing was sent. */
export class UntrustedError extends ConnbookError {
  readonly code = 'untrusted'
}

/** The connection ended, or the server was silent for too long: whether the call was done is not known. */
export class NoAnswerError extends ConnbookError {
  readonly code = 'no_answer'
}

/** As `openCall`, with the text of the answer, of at most CALL_ANSWER_BYTES_MAX bytes. */
export async function callEndpoint(
  endpoint: Endpoint,
  call: Call,
  options?: CallOptions,
): Promise<ClientResponse> {
  return readResponse(await openCall(endpoint, call, options))
}

/** @throws {NoAnswerError} if it ends early, or has more than CALL_ANSWER_BYTES_MAX bytes. */
export async function readResponse({ status, headers, body }: OpenResponse): Promise<ClientResponse> {
  return { status, headers, text: await readText(body) }
}

/**
 * Calls a server. Sends a long body only once the server wants it, or has not answered for CALL_CONTINUE_MS. Follows no
 * redirect.
 *
 * @throws {UnreachableError} {UntrustedError} {NoAnswerError}
 */
export async function openCall(
  endpoint: Endpoint,
  call: Call,
  options: CallOptions = {},
): Promise<OpenResponse> {
  const { silenceMs = CALL_SILENCE_MS, signal } = options
  if (endpoint.exchange !== undefined) return endpoint.exchange(call, options)
  // An aborted signal has no more events.
  if (signal?.aborted) throw ended()
  const { outgoing, isConnected } = startRequest(endpoint, call)
  const cancel = () => outgoing.destroy(ended())
  signal?.addEventListener('abort', cancel, { once: true })
  const leave = () => {
    signal?.removeEventListener('abort', cancel)
    outgoing.destroy()
  }
  try {
    const incoming = await exchange(outgoing, call, silenceMs)
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      body: readBody(incoming, endpoint, silenceMs, leave),
    }
  } catch (error) {
    leave()
    throw explain(error, outgoing, endpoint, isConnected())
  }
}

function startRequest(endpoint: Endpoint, { method, path, headers, body }: Call) {
  const { at, reach, host, basePath, isSecure } = endpoint
  const length = body?.reduce((bytes, piece) => bytes + piece.length, 0)
  const options = {
    ...(isSecure ? { ca: trustedAuthorities(endpoint.authorities) } : {}),
    method,
    path: basePath + path,
    agent: false,
    setHost: false,
    headers: {
      Host: host,
      ...headers,
      ...(length === undefined ? {} : { 'Content-Length': length }),
      ...((length ?? 0) > CALL_UNASKED_BYTES_MAX ? { Expect: '100-continue' } : {}),
    },
  }
  const begin = isSecure ? process.getBuiltinModule('node:https').request : request
  const outgoing =
    'socketPath' in at && reach !== undefined
      ? begin({ ...options, agent: undefined, createConnection: connectBy(reach, at.socketPath) })
      : begin({ ...options, ...at })
  let isConnected = false
  outgoing.once('socket', (socket) => {
    socket.once(isSecure ? 'secureConnect' : 'connect', () => (isConnected = true))
  })
  return { outgoing, isConnected: () => isConnected }
}

/** For a request without an agent: connects when the path of a socket can be reached. */
function connectBy(reach: FileSystem['reach'], path: string): RequestOptions['createConnection'] {
  return (_options, done) => {
    const connecting = reach(path, (own) => connect(own))
    connecting.then((socket) => done(null, socket), done as (error: Error) => void)
    return undefined
  }
}

/** Resolves at the head of the answer. */
async function exchange(
  outgoing: ClientRequest,
  { body }: Call,
  silenceMs: number,
): Promise<IncomingMessage> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  // An answer before the end of the body ends the sending: then the error of the sending says nothing.
  outgoing.on('error', reject)
  outgoing.setTimeout(silenceMs, () => outgoing.destroy(silent(silenceMs)))
  let unasked: NodeJS.Timeout | undefined
  if (body === undefined) outgoing.end()
  else {
    const send = () => {
      clearTimeout(unasked)
      for (const piece of body.slice(0, -1)) outgoing.write(piece)
      // With the last piece: a server that has the whole body may answer and close, and any write after that would fail.
      outgoing.end(body.at(-1))
    }
    if (outgoing.hasHeader('expect')) {
      outgoing.flushHeaders()
      outgoing.once('continue', send)
      // RFC 9110 section 10.1.1: not every server or proxy says that it wants the body.
      unasked = setTimeout(send, CALL_CONTINUE_MS)
    } else send()
  }
  try {
    const incoming = await answered
    outgoing.setTimeout(0)
    return incoming
  } finally {
    clearTimeout(unasked)
  }
}

async function* readBody(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  silenceMs: number,
  leave: () => void,
): AsyncGenerator<Buffer> {
  const pieces = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let isWaiting = false
  let timer: NodeJS.Timeout | undefined
  const onSilence = () => {
    timer = undefined
    if (isWaiting) incoming.destroy(silent(silenceMs))
  }
  try {
    for (;;) {
      isWaiting = true
      // Not the time-out of the socket: a reader may take its time. One for all pieces, because a list has many.
      timer = timer?.refresh() ?? setTimeout(onSilence, silenceMs)
      const { done, value } = await pieces.next()
      isWaiting = false
      if (done) return
      yield value
    }
  } catch (error) {
    if (error instanceof NoAnswerError) throw error
    const reason = systemCode(error) ?? String(error)
    throw new NoAnswerError(`${endpoint.name} did not finish its answer (${reason})`, { cause: error })
  } finally {
    clearTimeout(timer)
    leave()
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > CALL_ANSWER_BYTES_MAX)
      throw new NoAnswerError(`The answer is longer than ${CALL_ANSWER_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function ended(): NoAnswerError {
  return new NoAnswerError('The call was ended')
}

function silent(silenceMs: number): NoAnswerError {
  return new NoAnswerError(`The server was silent for ${silenceMs / 1000} s`)
}

function explain(error: unknown, outgoing: ClientRequest, endpoint: Endpoint, isConnected: boolean): unknown {
  const { name, unusedProxy } = endpoint
  const direct =
    isConnected || unusedProxy === undefined
      ? ''
      : `; it was called directly: connbook goes by no proxy, so ${unusedProxy} does not count`
  if (error instanceof NoAnswerError) {
    error.message += direct
    return error
  }
  const reason = systemCode(error) ?? String(error)
  if (isConnected) return new NoAnswerError(`${name} gave no answer (${reason})`, { cause: error })
  const { authorizationError } = (outgoing.socket ?? {}) as Partial<TLSSocket>
  if (authorizationError || reason === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const advice = adviceOnCertificate(reason, error)
    return new UntrustedError(`Cannot trust the certificate of ${name} (${reason}); ${advice}`, {
      cause: error,
    })
  }
  const remedy = endpoint.remedy === undefined ? '' : `; ${endpoint.remedy}`
  return new UnreachableError(`Cannot connect to ${name} (${reason})${remedy}${direct}`, { cause: error })
}

/**
 * The certificates of authorities that a client trusts: those of the system, of Node, and more.
 *
 * @param more PEM texts.
 */
function trustedAuthorities(more: readonly string[]): string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls')
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system'), ...more])]
}

/**
 * What to do about a certificate that is not trusted, as the end of a sentence.
 *
 * @param reason The code of the error. @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
function adviceOnCertificate(reason: string, error: unknown): string {
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `it is of another host${namesIn(error)}; name the server as its certificate does`
  if (reason === 'CERT_HAS_EXPIRED')
    return 'it, or that of its authority, has expired; renew it at the server, or set the clock here'
  if (reason === 'CERT_NOT_YET_VALID') return 'it is not valid yet; set the clock here, or at the server'
  return 'give --ca FILE with the certificate of its authority'
}

function namesIn(error: unknown): string {
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: string } }
  const names =
    cert?.subjectaltname?.split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, '')) ?? []
  if (names.length === 0) return ''
  const shown = names.slice(0, NAMES_SHOWN).map(escapeHidden).join(', ')
  return ` (${shown}${names.length > NAMES_SHOWN ? ', …' : ''})`
}
