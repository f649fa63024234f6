import { Agent, type IncomingMessage, request } from 'node:http'
import type { Answer, Ask, Headers } from '../../support/http-client.ts'

/** A client with one connection, which stays open between requests. */
export interface Connection {
  readonly ask: Ask
  /** Every answer so far, in order. */
  readonly answers: readonly Answer[]
  close(): void
}

/** Opens a connection and sends a first request on it. */
export async function openConnection(url: string): Promise<Connection> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: Answer[] = []

  const ask: Ask = async (method, path, { headers = {}, body } = {}) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const outgoing = request(url + path, {
      agent,
      method,
      headers: {
        ...(bytes === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(bytes === undefined ? {} : { 'Content-Length': Buffer.byteLength(bytes) }),
        ...(headers as Record<string, string>),
      },
    })
    outgoing.on('response', resolve).on('error', reject).end(bytes)
    const incoming = await promise
    const text = Buffer.concat(await incoming.toArray()).toString()
    const answer: Answer = {
      status: incoming.statusCode ?? 0,
      reason: incoming.statusMessage ?? '',
      headers: incoming.headers,
      text,
      json: () => JSON.parse(text),
    }
    answers.push(answer)
    return answer
  }
  await ask('GET', '/healthz')
  return { ask, answers, close: () => agent.destroy() }
}

/** The same client with headers for each request. */
export function withHeaders(ask: Ask, always: Headers): Ask {
  return (method, path, parts = {}) =>
    ask(method, path, { ...parts, headers: { ...always, ...parts.headers } })
}
