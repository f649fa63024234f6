import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.ts'
import { logIn } from '../../support/api.ts'
import { admin } from '../../support/service.ts'
import type { Experience } from './well-behaved-client.ts'

const PACE_MS = 2
const ANSWER_TIMEOUT_MS = 10_000

/** An account other than the attacker's: asks for `/healthz` on new connections, and reads a record over a kept one. */
export class OtherCaller {
  readonly #url: URL
  readonly #headers: { readonly Cookie: string }
  readonly #record: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  private constructor(url: string, headers: { readonly Cookie: string }, record: string) {
    this.#url = new URL(url)
    this.#headers = headers
    this.#record = `/configurations/${record}`
  }

  /** @param record Name of a record that is there. */
  static async logIn(url: string, record: string): Promise<OtherCaller> {
    return new OtherCaller(url, await logIn(url, admin), record)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Sends requests one after the other, at a steady pace. Times are in milliseconds. */
  async work(requests: number): Promise<Experience> {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const times: number[] = []
    const failures: string[] = []
    for (let turn = 0; turn < requests; turn += 1) {
      const [path, agent] = turn % 2 === 0 ? ['/healthz', false as const] : [this.#record, this.#agent]
      const begin = performance.now()
      try {
        const status = await this.#ask(path, agent)
        if (status !== 200) failures.push(`${path}: ${status}`)
      } catch (error) {
        failures.push(`${path}: ${error instanceof Error ? error.message : error}`)
      }
      times.push(performance.now() - begin)
      await pause(PACE_MS)
    }
    delay.disable()
    const p99 = quantile(times, 0.99)
    const ownDelayP99 = delay.percentile(99) / 1e6
    const [p50, max] = [quantile(times, 0.5), quantile(times, 1)]
    return { requests, p50, p99, servedP99: p99 - ownDelayP99, max, failures, ownDelayP99 }
  }

  #ask(path: string, agent: Agent | false): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const { hostname, port } = this.#url
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const outgoing = request({ hostname, port, agent, path, headers: this.#headers, signal })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      incoming.on('error', reject)
      incoming.once('end', () => resolve(incoming.statusCode ?? 0))
      incoming.resume()
    })
    outgoing.end()
    return promise
  }
}
