import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import http from 'node:http'
import type { SecureContext } from 'node:tls'
import { systemCode, UsageError } from '../errors.ts'
import { EtcdError, type EtcdReason, explainRefusal, readRefusal } from './etcd-error.ts'
import { type EtcdRefusal, parseAnswer } from './messages.ts'

/** Longest answer of etcd that is read; records are read in ranges of about a thousandth of this. */
const ETCD_ANSWER_BYTES_MAX = 512 * 1024 * 1024
/** How long the connection of a watch may be silent until TCP asks whether the member is still there. */
const ETCD_KEEP_ALIVE_MS = 10_000

const LINE_FEED = 0x0a

export interface PostOptions {
  readonly path: string
  readonly body: string
  /** Without `Bearer`: etcd's own form. */
  readonly token: string | undefined
  readonly signal: AbortSignal | undefined
  /** Until the answer begins, and, unless it is a stream, between its pieces. */
  readonly timeoutMs: number
}

/** A request on its way. */
interface SentRequest {
  readonly response: Promise<IncomingMessage>
  /** Something has arrived. */
  extend(): void
  /** Nothing more has to arrive in time. */
  settle(): void
  /** What to throw instead of an error of the connection. */
  broken(error: unknown): unknown
  /** It has ended, one way or the other. */
  end(): void
}

const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN']

interface Agents {
  readonly calls: Agent
  /** Streams end with their connection. */
  readonly streams: Agent
}

/** HTTP to one member of the cluster. */
export class HttpClient {
  readonly endpoint: string
  #tls: EtcdTls
  readonly #isSecure: boolean
  readonly #request: (options: RequestOptions) => ClientRequest
  readonly #place: RequestOptions
  readonly #host: string
  #agents: Agents

  /** @throws {UsageError} if certificates or key are not what they should be. */
  constructor(endpoint: string, tls: EtcdTls) {
    this.endpoint = endpoint
    this.#tls = tls
    const { protocol, hostname, port, host } = new URL(endpoint)
    const isSecure = protocol === 'https:'
    this.#isSecure = isSecure
    this.#request = moduleFor(isSecure).request
    this.#agents = openAgents(isSecure, tls)
    this.#host = host
    this.#place = {
      method: 'POST',
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    }
  }

  /** Makes further connections with other certificates. Those that are in use go on. @throws {UsageError} */
  useTls(tls: EtcdTls): void {
    const { calls } = this.#agents
    this.#agents = openAgents(this.#isSecure, tls)
    this.#tls = tls
    calls.maxFreeSockets = 0
    for (const socket of Object.values(calls.freeSockets).flat()) socket?.destroy()
  }

  /** @throws {EtcdError} or the reason of the signal. */
  async post(options: PostOptions): Promise<Record<string, unknown>> {
    const sent = this.#send(options, this.#agents.calls)
    try {
      const response = await sent.response
      const text = await readText(response, sent.extend)
      const { statusCode = 0 } = response
      if (statusCode !== 200) throw this.#refused(text, statusCode)
      return parseAnswer(text)
    } catch (error) {
      throw sent.broken(error)
    } finally {
      sent.end()
    }
  }

  /** The lines of an answer that goes on; ends when the member ends it. @throws {EtcdError} or the reason of the signal. */
  async *stream(options: PostOptions): AsyncGenerator<string> {
    const sent = this.#send(options, this.#agents.streams)
    try {
      const response = await sent.response
      const { statusCode = 0 } = response
      if (statusCode !== 200) throw this.#refused(await readText(response, sent.extend), statusCode)
      sent.settle()
      // What lies between may forget a connection on which nothing comes, and a member may vanish.
      response.socket.setKeepAlive(true, ETCD_KEEP_ALIVE_MS)
      yield* readLines(response)
    } catch (error) {
      throw sent.broken(error)
    } finally {
      sent.end()
    }
  }

  close(): void {
    this.#agents.calls.destroy()
    this.#agents.streams.destroy()
  }

  #send({ path, body, token, signal, timeoutMs }: PostOptions, agent: Agent): SentRequest {
    signal?.throwIfAborted()
    const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = [
      ...['Host', this.#host, 'Content-Type', 'application/json'],
      ...['Content-Length', String(Buffer.byteLength(body))],
      // Otherwise a member without a leader stays silent.
      ...['Grpc-Metadata-hasleader', 'true'],
    ]
    if (token) headers.push('Authorization', token)
    const request = this.#request({ ...this.#place, agent, path, headers })
    let stopped: { readonly reason: unknown } | undefined
    const stop = (reason: unknown) => {
      stopped ??= { reason }
      request.destroy()
    }
    const timer = setTimeout(
      () => stop(this.#error('timed_out', `no answer within ${timeoutMs} ms`, false)),
      timeoutMs,
    )
    const abort = () => stop(signal?.reason)
    signal?.addEventListener('abort', abort)
    // Not again on a connection that was used before.
    let isSecured = false
    request.once('socket', (socket) => {
      if (!request.reusedSocket) socket.once('secureConnect', () => (isSecured = true))
    })
    request.once('response', resolve)
    request.on('error', reject)
    request.end(body)
    return {
      response,
      extend: () => timer.refresh(),
      settle: () => clearTimeout(timer),
      broken: (error) =>
        stopped === undefined ? this.#broken(error, !isSecured && !request.reusedSocket) : stopped.reason,
      end() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      },
    }
  }

  /** @param isInHandshake Whether it came before the end of one. */
  #broken(error: unknown, isInHandshake: boolean): EtcdError {
    if (error instanceof EtcdError) return error
    if (error instanceof SyntaxError) return this.unexpected(error)
    const code = systemCode(error) ?? ''
    const words = wordsOf(error) || code
    // A handshake that fails comes before anything is done; with TLS 1.3, so does the refusal of a client certificate.
    if (/CERT|TLS|SSL|SELF_SIGNED|ALTNAME|EPROTO|UNABLE_TO/.test(code))
      return this.#error(
        'tls',
        words,
        isInHandshake || code.includes('ALERT'),
        error,
        remedyOfHandshake(code, this.#tls),
      )
    return this.#error('unreachable', words, NOT_SENT.includes(code), error)
  }

  #refused(text: string, status: number): EtcdError {
    return this.refusal(readRefusal(text, status))
  }

  refusal(refusal: EtcdRefusal): EtcdError {
    const { reason, isUndone } = explainRefusal(refusal)
    return this.#error(reason, refusal.message, isUndone)
  }

  /** For an answer that makes no sense: then nobody knows what was done. */
  unexpected(error: SyntaxError): EtcdError {
    return this.#error('unexpected', error.message, false, error)
  }

  #error(reason: EtcdReason, words: string, isUndone: boolean, cause?: unknown, remedy?: string): EtcdError {
    return new EtcdError(this.endpoint, reason, words, {
      isUndone,
      cause,
      ...(remedy === undefined ? {} : { remedy }),
    })
  }
}

/** Loaded only where it is needed: TLS takes time and memory. */
function moduleFor(isSecure: boolean) {
  return isSecure ? process.getBuiltinModule('node:https') : http
}

/** @throws {UsageError} */
function openAgents(isSecure: boolean, tls: EtcdTls): Agents {
  const { Agent } = moduleFor(isSecure)
  const options = { noDelay: true, ...(isSecure ? { secureContext: openTls(tls) } : {}) }
  return { calls: new Agent({ ...options, keepAlive: true }), streams: new Agent(options) }
}

/** Much faster for short answers than `for await`. */
function readText(response: IncomingMessage, onPiece: () => void): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const pieces: Buffer[] = []
  let bytes = 0
  response.on('data', (piece: Buffer) => {
    onPiece()
    pieces.push(piece)
    bytes += piece.length
    if (bytes > ETCD_ANSWER_BYTES_MAX) response.destroy(new SyntaxError('the answer is too long'))
  })
  response.on('end', () => {
    const [first] = pieces
    resolve((first && pieces.length === 1 ? first : Buffer.concat(pieces, bytes)).toString())
  })
  response.on('error', reject)
  return promise
}

/**
 * OpenSSL's own messages are long, and name the place in its source where they were made: only their reason is of use. Node adds advice
 * on its flags, which nobody can give to an executable.
 */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const reason = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message
  return reason.replace(/; if the root CA is installed locally.*/, '')
}

/** Certificates and key as PEM. */
export interface EtcdTls {
  readonly ca?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
  /** Paths of their files, for messages. */
  readonly paths?: { readonly ca: string | undefined; readonly certificate: string | undefined }
}

/** Made once, and not for each connection. @throws {UsageError} if one of them is not what it should be. */
export function openTls({ ca, certificate, key }: EtcdTls): SecureContext {
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  if (ca !== undefined) {
    // A context takes any text.
    check('--etcd-ca', () => new X509Certificate(ca))
  }
  return check('--etcd-cert with --etcd-key', () => createSecureContext({ ca, cert: certificate, key }))
}

/**
 * What to do about a handshake that failed, as the end of a sentence; undefined if that is not clear.
 *
 * @param code The code of the error. @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
function remedyOfHandshake(code: string, { certificate, paths }: EtcdTls): string | undefined {
  if (code === 'CERT_HAS_EXPIRED')
    return 'renew the certificate of this member, or that of its authority, or set the clock of this host'
  if (code === 'CERT_NOT_YET_VALID') return 'set the clock of this host, or that of the member'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'name the member with --etcd as its certificate does'
  if (/^(?:UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_)/.test(code))
    return `give the authority of its certificate with --etcd-ca${fileOf(paths?.ca)}`
  // etcd says the same of each certificate that it does not take, and of none.
  if (!/ALERT_(?:BAD|UNKNOWN|.*CERTIFICATE|.*_CA$)/.test(code)) return undefined
  return certificate === undefined
    ? 'it wants a client certificate: give --etcd-cert and --etcd-key'
    : `it does not take the client certificate: check the dates of --etcd-cert${fileOf(paths?.certificate)}, and that its authority is the one that etcd trusts`
}

function fileOf(path: string | undefined): string {
  return path === undefined ? '' : ` "${path}"`
}

function check<Result>(flags: string, open: () => Result): Result {
  try {
    return open()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot use ${flags}: ${reason}; give PEM files that fit each other`, {
      cause: error,
    })
  }
}

/** The lines of a text that arrives in pieces, split anywhere; the last line need not end. */
export async function* readLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = []
  for await (const piece of pieces) {
    let rest = piece
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      begun.push(rest.subarray(0, end))
      yield Buffer.concat(begun).toString()
      begun = []
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) begun.push(rest)
  }
  if (begun.length > 0) yield Buffer.concat(begun).toString()
}
