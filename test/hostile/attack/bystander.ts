import { Agent, type IncomingMessage, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.ts'
import type { Experience } from './well-behaved-client.ts'

const PACE_MS = 2
const ANSWER_TIMEOUT_MS = 60_000

/** Asks for `/healthz` over new connections, and for `record-1` with its own credential over one that it keeps. */
export class Bystander {
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  /** @param headers With the credential of an account that makes no attack. */
  constructor(url: string, headers: Record<string, string>) {
    this.#url = new URL(url)
    this.#headers = headers
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Asks one request after the other while it is told to; times are in milliseconds. */
  async work(goesOn: (requests: number) => boolean): Promise<Experience> {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const times: number[] = []
    const failures: string[] = []
    while (goesOn(times.length)) {
      await this.#ask(times.length, times, failures)
      await pause(PACE_MS)
    }
    delay.disable()
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

  async #ask(turn: number, times: number[], failures: string[]) {
    const begin = performance.now()
    try {
      if (turn % 2 === 0) await this.#expect200('/healthz', false)
      else await this.#expect200('/configurations/record-1', this.#agent)
    } catch (error) {
      failures.push(`request ${turn}: ${error instanceof Error ? error.message : error}`)
    }
    times.push(performance.now() - begin)
  }

  async #expect200(path: string, agent: Agent | false): Promise<void> {
    const { hostname, port } = this.#url
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const outgoing = request({ hostname, port, agent, path, headers: this.#headers, signal })
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
    outgoing.end()
    const incoming = await promise
    const text = Buffer.concat(await incoming.toArray()).toString()
    if (incoming.statusCode !== 200) throw new Error(`GET ${path}: ${incoming.statusCode} ${text}`)
  }
}
