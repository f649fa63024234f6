import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { logIn } from '../../support/api.ts'
import { admin } from '../../support/service.ts'
import { type Experience, experienceOf, PACE_MS } from './well-behaved-client.ts'

const ANSWER_TIMEOUT_MS = 60_000

/** An account other than the attacker's: asks for `/healthz` on new connections, and for a record over a kept one. */
export class OtherCaller {
  readonly #url: URL
  readonly #headers: { readonly Cookie: string }
  readonly #path: string
  #changes = false
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  private constructor(url: string, headers: { readonly Cookie: string }, path: string) {
    this.#url = new URL(url)
    this.#headers = headers
    this.#path = path
  }

  /** @param record Name of a record that is there. */
  static logIn(url: string, record: string): Promise<OtherCaller> {
    return OtherCaller.asking(url, `/configurations/${record}`)
  }

  /**
   * One that asks something else over the kept connection.
   *
   * @param changes Whether it changes the record of the path, each time.
   */
  static async asking(url: string, path: string, { changes = false } = {}): Promise<OtherCaller> {
    const caller = new OtherCaller(url, await logIn(url, admin), path)
    caller.#changes = changes
    return caller
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
      const [path, agent] = times.length % 2 === 0 ? ['/healthz', false as const] : [this.#path, this.#agent]
      const begin = performance.now()
      try {
        const status = await this.#ask(path, agent, times.length)
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

  #ask(path: string, agent: Agent | false, turn: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const { hostname, port } = this.#url
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const isChange = this.#changes && agent !== false
    const [method, headers] = isChange
      ? ['PATCH', { ...this.#headers, 'Content-Type': 'application/json' }]
      : ['GET', this.#headers]
    const outgoing = request({ hostname, port, agent, method, path, headers, signal })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      incoming.on('error', reject)
      incoming.once('end', () => resolve(incoming.statusCode ?? 0))
      incoming.resume()
    })
    outgoing.end(isChange ? JSON.stringify({ port: 1 + (turn % 60_000) }) : undefined)
    return promise
  }
}
