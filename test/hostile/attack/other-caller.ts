import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { logIn } from '../../support/api.ts'
import { admin } from '../../support/service.ts'
import { type Experience, experienceOf, PACE_MS } from './well-behaved-client.ts'

const ANSWER_TIMEOUT_MS = 60_000

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
  work(requests: number): Promise<Experience> {
    return this.workWhile((done) => done < requests)
  }

  /** The same for as long as it is told to go on. */
  async workWhile(goesOn: (done: number) => boolean): Promise<Experience> {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const times: number[] = []
    const failures: string[] = []
    while (goesOn(times.length)) {
      const [path, agent] =
        times.length % 2 === 0 ? ['/healthz', false as const] : [this.#record, this.#agent]
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
    return experienceOf(times, failures, delay)
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
