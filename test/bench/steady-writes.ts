import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { CONNECTIONS } from './load.ts'
import { type Period, sharedNow } from './shared-clock.ts'

export const WRITES_PER_SECOND = 1_000
const TURN_MS = 1

export interface Write {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** From when a write was due, whether or not a connection was free then, to its answer. */
export interface Acknowledged extends Period {
  readonly index: number
}

/** Writes at a fixed rate, whether or not the answers keep up. */
export interface SteadyWrites {
  readonly acknowledged: readonly Acknowledged[]
  /** Rejects as soon as one write is not answered with 2xx. */
  readonly failed: Promise<never>
  /** Sends nothing more; what still has no answer may go without. */
  stop(): void
}

export function startSteadyWrites(
  url: string,
  headers: Readonly<Record<string, string>>,
  makeWrite: (index: number) => Write,
): SteadyWrites {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const acknowledged: Acknowledged[] = []
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {})
  let isStopped = false
  void sendWhenDue()
  return {
    acknowledged,
    failed,
    stop() {
      isStopped = true
    },
  }

  async function sendWhenDue() {
    const start = sharedNow()
    for (let index = 0; !isStopped; await pause(TURN_MS)) {
      for (; dueAt(start, index) <= sharedNow(); index++) send(index, dueAt(start, index))
    }
  }

  function send(index: number, begin: number) {
    const { method, path, body } = makeWrite(index)
    const fail = (reason: unknown) => {
      if (!isStopped) reject(new Error(`${method} ${path}: ${reason}`))
    }
    const fields = {
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    }
    const outgoing = request(url + path, { agent, method, headers: fields }, (incoming) => {
      const { statusCode = 0 } = incoming
      incoming.on('error', fail).resume()
      if (statusCode < 200 || statusCode > 299) fail(statusCode)
      else acknowledged.push({ index, begin, end: sharedNow() })
    })
    outgoing.on('error', fail).end(body)
  }
}

function dueAt(start: number, index: number): number {
  return start + (index * 1000) / WRITES_PER_SECOND
}
