import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { systemCode } from '../../errors.ts'
import { parseJson } from '../../json.ts'
import { ETCD_ANSWER_BYTES_MAX } from '../../limits.ts'
import { readError } from './answers.ts'
import { EtcdError, type EtcdReason } from './etcd-error.ts'

/** Certificates and key as PEM. */
export interface EtcdTls {
  readonly ca?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}

export interface PostOptions {
  readonly path: string
  readonly body: string
  /** Without `Bearer`: etcd's own form. */
  readonly token: string | undefined
  readonly signal: AbortSignal | undefined
  /** Until the answer, or of a stream its beginning, is here. */
  readonly timeoutMs: number
}

const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN']

/** HTTP to one member of the cluster. */
export class HttpClient {
  readonly endpoint: string
  readonly #request: (options: object) => ClientRequest
  readonly #agents: readonly Agent[]

  constructor(endpoint: string, tls: EtcdTls) {
    this.endpoint = endpoint
    const { protocol, hostname, port } = new URL(endpoint)
    const isSecure = protocol === 'https:'
    const { ca, certificate: cert, key } = tls
    // Loaded only where it is needed: it takes time and memory.
    const { Agent, request } = isSecure ? process.getBuiltinModule('node:https') : http
    const agentOptions = { noDelay: true, ...(isSecure ? { ca, cert, key } : {}) }
    const agent = new Agent({ ...agentOptions, keepAlive: true })
    const streams = new Agent(agentOptions)
    this.#agents = [agent, streams]
    const place = {
      method: 'POST',
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    }
    this.#request = ({ isStream, ...options }: { isStream?: boolean }) =>
      request({ ...place, agent: isStream ? streams : agent, ...options })
  }

  /** The JSON of the answer. @throws {EtcdError} */
  async post(options: PostOptions): Promise<unknown> {
    const pieces: Buffer[] = []
    let bytes = 0
    const { response, settle } = await this.#send(options, false)
    try {
      for await (const piece of response) {
        pieces.push(piece as Buffer)
        bytes += (piece as Buffer).length
        if (bytes > ETCD_ANSWER_BYTES_MAX) throw new SyntaxError('the answer is too long')
      }
    } catch (error) {
      throw settle(error)
    } finally {
      settle()
    }
    return this.#parse(Buffer.concat(pieces, bytes).toString(), response.statusCode ?? 0)
  }

  /** The lines of an answer that goes on; ends when the member ends it. @throws {EtcdError} */
  async *stream(options: PostOptions): AsyncGenerator<string> {
    const { response, settle } = await this.#send(options, true)
    // The time-out is for the beginning alone.
    settle()
    let begun: Buffer[] = []
    try {
      for await (const chunk of response) {
        let rest = chunk as Buffer
        for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
          begun.push(rest.subarray(0, end))
          yield Buffer.concat(begun).toString()
          begun = []
          rest = rest.subarray(end + 1)
        }
        if (rest.length > 0) begun.push(rest)
      }
    } catch (error) {
      throw this.#broken(error, options, false)
    } finally {
      response.destroy()
    }
    // The last error frame of etcd 3.4 has no newline.
    if (begun.length > 0) yield Buffer.concat(begun).toString()
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy()
  }

  async #send(options: PostOptions, isStream: boolean) {
    const { path, body, token, signal, timeoutMs } = options
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    let isLate = false
    const request = this.#request({
      isStream,
      path,
      signal,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        // Otherwise a member without a leader stays silent.
        'Grpc-Metadata-hasleader': 'true',
        ...(token ? { Authorization: token } : {}),
      },
    } as object)
    const timer = setTimeout(() => {
      isLate = true
      request.destroy()
    }, timeoutMs)
    const settle = (error?: unknown) => {
      clearTimeout(timer)
      return this.#broken(error, options, isLate)
    }
    request.once('response', resolve)
    request.on('error', reject)
    request.end(body)
    try {
      return { response: await promise, settle }
    } catch (error) {
      throw settle(error)
    }
  }

  /** @throws the reason of the signal, if it was aborted. */
  #broken(error: unknown, { signal, timeoutMs }: PostOptions, isLate: boolean): EtcdError {
    signal?.throwIfAborted()
    if (error instanceof EtcdError) return error
    if (error instanceof SyntaxError) return this.#error('unexpected', error.message, false, error)
    if (isLate) return this.#error('timed_out', `no answer within ${timeoutMs} ms`, false, error)
    const code = systemCode(error) ?? ''
    const words = error instanceof Error && error.message !== '' ? error.message : code
    if (/CERT|TLS|SSL|SELF_SIGNED|ALTNAME|EPROTO|UNABLE_TO/.test(code))
      return this.#error('tls', words, true, error)
    return this.#error('unreachable', words, NOT_SENT.includes(code), error)
  }

  #parse(text: string, status: number): unknown {
    // etcd may put a trailer behind the JSON of an error.
    const json = text.slice(0, text.lastIndexOf('}') + 1)
    let parsed: unknown
    try {
      parsed = parseJson(json)
    } catch (error) {
      throw this.#error('unexpected', `an answer with status ${status} that is no JSON`, false, error)
    }
    if (status === 200) return parsed
    const { message, code } = readError(parsed) ?? { message: `status ${status}`, code: 0 }
    throw this.refusal(message, code)
  }

  /** @param code Of gRPC. */
  refusal(message: string, code: number): EtcdError {
    const [reason, isUndone] = reasonOf(message, code)
    return this.#error(reason, message, isUndone)
  }

  #error(reason: EtcdReason, words: string, isUndone: boolean, cause?: unknown): EtcdError {
    return new EtcdError(this.endpoint, reason, words, { isUndone, cause })
  }
}

/** What a refusal means, and whether it is certain that nothing was done. */
function reasonOf(message: string, code: number): [EtcdReason, boolean] {
  if (message.includes('database space exceeded')) return ['no_space', true]
  if (/too large|too many operations|larger than max/.test(message)) return ['too_large', true]
  if (message.includes('has been compacted')) return ['compacted', true]
  if (message.includes('requested lease not found')) return ['no_lease', true]
  if (message.includes('permission denied')) return ['denied', true]
  if (/user name|auth token|authentication failed/.test(message) || code === UNAUTHENTICATED)
    return ['login_failed', true]
  if (message.includes('no leader')) return ['unavailable', true]
  return code === UNAVAILABLE || code === DEADLINE_EXCEEDED || /timed out|leader changed|stopp/.test(message)
    ? ['unavailable', false]
    : ['unexpected', false]
}

// https://grpc.io/docs/guides/status-codes/
const [DEADLINE_EXCEEDED, UNAVAILABLE, UNAUTHENTICATED] = [4, 14, 16]
