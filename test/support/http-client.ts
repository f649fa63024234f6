import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { isObject } from '../../src/json.ts'
import { checkAnswer } from './under-test.ts'

export type Headers = Record<string, string | readonly string[]>

export interface Answer {
  readonly status: number
  readonly reason: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body taken as JSON. */
  json<T>(): T
}

export interface Parts {
  readonly headers?: Headers
  /** Text and bytes are sent unchanged, without a type; anything else as JSON, with its type. */
  readonly body?: unknown
}

/** Sends a request with the path exactly as given, and no header of its own but `Host`. */
export type Ask = (method: string, path: string, parts?: Parts) => Promise<Answer>

/**
 * A client that, unlike `fetch`, neither tidies paths nor adds headers, and may use any method. Of a server under test,
 * it asserts that each answer is one that the OpenAPI document describes.
 *
 * @param always Headers that go with each request.
 * @param connection The agent, the local address or the Unix socket; without it, a new connection for each request.
 */
export function createClient(
  url: string,
  always: Headers = {},
  connection: Pick<RequestOptions, 'agent' | 'localAddress' | 'socketPath'> = {},
): Ask {
  const { origin, protocol, hostname, port, pathname } = new URL(url)
  const request = protocol === 'https:' ? requestHttps : requestHttp
  const base = pathname === '/' ? '' : pathname
  return async (method, path, { headers = {}, body } = {}) => {
    const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
    const bytes = isRaw ? body : JSON.stringify(body)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const outgoing = request(
      {
        hostname,
        port,
        method,
        path: base + path,
        agent: false,
        ...connection,
        rejectUnauthorized: false,
        headers: {
          ...(isRaw ? {} : { 'Content-Type': 'application/json' }),
          ...(bytes === undefined || 'Transfer-Encoding' in headers
            ? {}
            : { 'Content-Length': Buffer.byteLength(bytes) }),
          ...always,
          ...headers,
        } as Record<string, string | string[] | number>,
      },
      resolve,
    )
    outgoing.on('error', reject)
    outgoing.end(bytes)
    const incoming = await promise
    const text = Buffer.concat(await incoming.toArray()).toString()
    const { statusCode: status = 0 } = incoming
    const received = { status, headers: incoming.headers, text, sent: body }
    await checkAnswer(origin, method, base + path, received)
    return {
      status,
      reason: incoming.statusMessage ?? '',
      headers: incoming.headers,
      text,
      json: () => JSON.parse(text),
    }
  }
}

/** The headers without those that differ from answer to answer. */
export function ownHeaders({ headers }: Pick<Answer, 'headers'>): IncomingHttpHeaders {
  const { date, 'x-request-id': requestId, ...others } = headers
  return others
}

/** The fields that a problem body names, in order; empty when it names none. */
export function faultyFields(answer: Answer): string[] {
  const { errors } = answer.json<{ errors?: { field: string }[] }>()
  return errors?.map(({ field }) => field) ?? []
}

/** The names in a `configurations` envelope, in order. */
export function namesIn(answer: Answer): string[] {
  return recordsIn(answer).map(({ name }) => name)
}

export interface ShownRecord {
  readonly id: number
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
  readonly labels?: Readonly<Record<string, string>>
}

/** The records in a `configurations` envelope, which must be the answer's only member. */
export function recordsIn(answer: Answer): ShownRecord[] {
  const body = answer.json<unknown>()
  if (
    !isObject(body) ||
    Object.keys(body).join() !== 'configurations' ||
    !Array.isArray(body.configurations)
  ) {
    throw new Error(`this is no envelope: ${answer.status} ${answer.text}`)
  }
  return body.configurations
}
