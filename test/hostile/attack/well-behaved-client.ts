import { Agent, type IncomingMessage, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.ts'
import { draft } from '../../support/store.ts'

/** What a client measured that sends few requests, one after the other. */
export interface Experience {
  readonly requests: number
  readonly p50: number
  readonly p99: number
  /** `p99` less `ownDelayP99`: what the server took, on a machine that keeps every process waiting. */
  readonly servedP99: number
  readonly max: number
  /** One line for each failed request. */
  readonly failures: readonly string[]
  /** Delay of the client's own event loop, which is part of what it measures. */
  readonly ownDelayP99: number
}

export const PACE_MS = 2
/** One request in this many uses a new connection. */
const FRESH_EACH = 10
const ANSWER_TIMEOUT_MS = 60_000

/** @param times Of each request. @param delay Of the client's own event loop meanwhile. */
export function experienceOf(
  times: readonly number[],
  failures: readonly string[],
  delay: Pick<ReturnType<typeof monitorEventLoopDelay>, 'percentile'>,
): Experience {
  const p99 = quantile(times, 0.99)
  const ownDelayP99 = delay.percentile(99) / 1e6
  return {
    requests: times.length,
    p50: quantile(times, 0.5),
    p99,
    servedP99: p99 - ownDelayP99,
    max: quantile(times, 1),
    failures,
    ownDelayP99,
  }
}

/**
 * Reads a record, reads a page of the list and adds a record, in turn, at a steady pace over one connection, and now
 * and then over a new one. Times are in milliseconds, from before the connection is there to the last byte.
 *
 * @param prefix Begins the names of the records that it adds.
 */
export class WellBehavedClient {
  readonly #url: URL
  readonly #bearer: string
  readonly #prefix: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #added = 0
  #connections = 0

  constructor(url: string, bearer: string, prefix: string) {
    this.#url = new URL(url)
    this.#bearer = bearer
    this.#prefix = prefix
  }

  /** How many kept connections it used: 1, unless the server closed one. */
  get keptConnections(): number {
    return this.#connections
  }

  close(): void {
    this.#agent.destroy()
  }

  /** @param onlyKept Whether to use no new connections. */
  async work(requests: number, { onlyKept = false } = {}): Promise<Experience> {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const times: number[] = []
    const failures: string[] = []
    for (let turn = 0; turn < requests; turn += 1) {
      const isFresh = !onlyKept && turn % FRESH_EACH === 0
      const begin = performance.now()
      try {
        await this.#ask(turn, isFresh ? false : this.#agent)
      } catch (error) {
        failures.push(
          `${isFresh ? 'fresh ' : ''}request ${turn}: ${error instanceof Error ? error.message : error}`,
        )
      }
      times.push(performance.now() - begin)
      await pause(PACE_MS)
    }
    delay.disable()
    return experienceOf(times, failures, delay)
  }

  async #ask(turn: number, agent: Agent | false): Promise<void> {
    // Three and ten have no common factor, so new connections get each kind of request.
    const kind = turn % 3
    if (kind === 0) return this.#expect200(agent, 'GET', '/configurations/record-1')
    if (kind === 1) return this.#expect200(agent, 'GET', '/configurations/?sort=name&page=0&per_page=20')
    const body = JSON.stringify(draft(`${this.#prefix}-${this.#added++}`))
    return this.#expect200(agent, 'POST', '/configurations/', body)
  }

  async #expect200(agent: Agent | false, method: string, path: string, body = ''): Promise<void> {
    const { hostname, port } = this.#url
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const outgoing = request({
      hostname,
      port,
      agent,
      method,
      path,
      headers: {
        Authorization: this.#bearer,
        ...(body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length }),
      },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
    outgoing.end(body)
    const incoming = await promise
    if (agent !== false && !outgoing.reusedSocket) this.#connections += 1
    const text = Buffer.concat(await incoming.toArray()).toString()
    if (incoming.statusCode !== 200) throw new Error(`${method} ${path}: ${incoming.statusCode} ${text}`)
  }
}
