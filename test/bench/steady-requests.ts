import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sample } from './figure.ts'
import { CONNECTIONS } from './load.ts'
import { type Period, sharedNow } from './shared-clock.ts'
import { quantile } from './statistics.ts'

const TURN_MS = 1

export interface SteadyRequest {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** From when a request was due, whether or not a connection was free then, to its answer. */
export interface Answered extends Period {
  readonly index: number
}

/** Requests at a fixed rate, whether or not the answers keep up. */
export interface SteadyRequests {
  readonly answered: readonly Answered[]
  /** Rejects as soon as one request is not answered with 2xx. */
  readonly failed: Promise<never>
  /** Sends nothing more; requests in flight may stay without an answer. */
  stop(): void
}

export function startSteadyRequests(
  url: string,
  headers: Readonly<Record<string, string>>,
  perSecond: number,
  makeRequest: (index: number) => SteadyRequest,
): SteadyRequests {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const answered: Answered[] = []
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {})
  let isStopped = false
  let unanswered = 0
  void sendWhenDue()
  return {
    answered,
    failed,
    stop() {
      isStopped = true
      if (unanswered === 0) agent.destroy()
    },
  }

  async function sendWhenDue() {
    const start = sharedNow()
    const dueAt = (index: number) => start + (index * 1000) / perSecond
    for (let index = 0; !isStopped; await pause(TURN_MS)) {
      for (; dueAt(index) <= sharedNow(); index++) send(index, dueAt(index))
    }
  }

  function send(index: number, begin: number) {
    const { method, path, body } = makeRequest(index)
    const fail = (reason: unknown) => {
      if (!isStopped) reject(new Error(`${method} ${path}: ${reason}`))
    }
    const ownFields = body === undefined ? {} : bodyFields(body)
    unanswered++
    const outgoing = request(
      url + path,
      { agent, method, headers: { ...headers, ...ownFields } },
      (incoming) => {
        const { statusCode = 0 } = incoming
        incoming.on('error', fail).resume()
        if (statusCode < 200 || statusCode > 299) fail(statusCode)
        else answered.push({ index, begin, end: sharedNow() })
      },
    )
    outgoing.on('error', fail).on('close', () => {
      unanswered--
      if (isStopped && unanswered === 0) agent.destroy()
    })
    outgoing.end(body)
  }
}

/** The latencies of the requests that were answered in the period. */
export function latenciesIn(answered: readonly Answered[], period: Period): Sample {
  const waits = answered
    .filter(({ end }) => end >= period.begin && end < period.end)
    .map(({ begin, end }) => end - begin)
  return {
    latencyP50: quantile(waits, 0.5),
    latencyP99: quantile(waits, 0.99),
    latencyMax: quantile(waits, 1),
  }
}

function bodyFields(body: string) {
  return { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
}
