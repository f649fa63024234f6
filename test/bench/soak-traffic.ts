import { deepEqual, equal } from 'node:assert/strict'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, createClient, namesIn, type Parts } from '../support/http-client.ts'
import { fieldsOf } from './data-folders.ts'
import type { Connbook } from './servers.ts'

const WORKERS = 16
/** The least time between the starts of two requests of a worker. */
const PERIOD_MS = 20
const PER_PAGE = 50
/** Rounds of one worker between two whole lists, and between two logins. */
const LIST_EVERY = 100
const LOGIN_EVERY = 100
/** Failures of which the reason is kept. */
const REASONS_MAX = 20

/** What was sent since the last look. */
export interface Traffic {
  /** Milliseconds of each request that was answered as it must be. */
  readonly latencies: readonly number[]
  /** How many of each kind. */
  readonly counts: ReadonlyMap<string, number>
}

export interface RunningTraffic {
  /** Failed requests so far: no answer, or a wrong one. */
  readonly failures: number
  /** The first of the reasons. */
  readonly reasons: readonly string[]
  take(): Traffic
  /** Lets every worker end its round. */
  stop(): Promise<void>
}

/**
 * Every kind of work at once, at a bounded rate: each worker adds a record, reads, changes and deletes it, and does the
 * rest in between, so that there are never more records than some above `records`.
 */
export function startTraffic({ url, credentials }: Connbook, records: number): RunningTraffic {
  const agent = new Agent({ keepAlive: true })
  const ask = createClient(url, {}, { agent })
  const reasons: string[] = []
  let failures = 0
  let isStopped = false
  let latencies: number[] = []
  let counts = new Map<string, number>()
  const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker))

  return {
    get failures() {
      return failures
    },
    reasons,
    take() {
      const taken = { latencies, counts }
      latencies = []
      counts = new Map()
      return taken
    },
    async stop() {
      isStopped = true
      await Promise.all(workers)
      agent.destroy()
    },
  }

  async function work(worker: number) {
    for (let round = 0; !isStopped; round++) {
      try {
        await doRound(worker, round)
      } catch (error) {
        failures++
        if (reasons.length < REASONS_MAX) reasons.push(String(error))
        await pause(PERIOD_MS)
      }
    }
  }

  async function doRound(worker: number, round: number) {
    const name = `soak-${worker}-${round}`
    const path = `/configurations/${name}`
    const some = (step: number) => 1 + ((round * 37 + worker * 1009 + step * 101) % records)
    const token = await send('token', 200, 'POST', '/v1/auth/token', { body: clientOf(credentials) })
    const headers = { Authorization: `Bearer ${token.json<{ access_token: string }>().access_token}` }

    const draft = { ...fieldsOf(some(0)), name }
    await send('add', 200, 'POST', '/configurations/', { headers, body: draft })
    for (let step = 1; step <= 4; step++) {
      const one = await send('read', 200, 'GET', `/configurations/record-${some(step)}`, { headers })
      deepEqual(namesIn(one), [`record-${some(step)}`])
    }
    const own = await send('read', 200, 'GET', path, { headers })
    const conditional = { ...headers, 'If-None-Match': own.headers.etag ?? '' }
    await send('304', 304, 'GET', path, { headers: conditional })
    await send('304', 304, 'GET', path, { headers: conditional })
    for (const sort of ['name', '-port']) {
      const query = `sort=${sort}&page=${Math.floor(some(5) / PER_PAGE) % (records / PER_PAGE)}&per_page=${PER_PAGE}`
      const page = await send('page', 200, 'GET', `/configurations/?${query}`, { headers })
      equal(namesIn(page).length, PER_PAGE)
    }
    await send('modify', 200, 'PATCH', path, { headers, body: { port: 1 + (round % 65_535) } })
    const changed = await send('read', 200, 'GET', path, { headers })
    equal(
      changed.json<{ configurations: { port: number }[] }>().configurations[0]?.port,
      1 + (round % 65_535),
    )
    await send('delete', 209, 'DELETE', path, { headers })
    if (round % LIST_EVERY === worker) {
      const list = await send('list', 200, 'GET', '/configurations/', { headers })
      // Parsing it would delay the requests whose latency is measured.
      equal(list.text.split('{"id":').length - 1, Number(list.headers['x-total-count']))
    }
    if (round % LOGIN_EVERY === worker) await visit()
  }

  /** A session from its beginning to its end. */
  async function visit() {
    const { username, password } = credentials
    const login = await send('login', 200, 'POST', '/login', { body: { username, password } })
    const headers = { Cookie: login.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
    await send('read', 200, 'GET', '/configurations/record-1', { headers })
    await send('logout', 200, 'POST', '/logout', { headers })
    await send('refused', 403, 'GET', '/configurations/record-1', { headers })
  }

  /** One request, which must be answered with this status; then the rest of its period. */
  async function send(
    kind: string,
    status: number,
    method: string,
    path: string,
    parts: Parts,
  ): Promise<Answer> {
    const begin = performance.now()
    const answer = await ask(method, path, parts)
    const milliseconds = performance.now() - begin
    if (answer.status !== status) {
      throw new Error(`${method} ${path} should be answered ${status}, but: ${answer.status} ${answer.text}`)
    }
    latencies.push(milliseconds)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    await pause(Math.max(0, PERIOD_MS - milliseconds))
    return answer
  }
}

function clientOf({ client_id, client_secret }: Connbook['credentials']) {
  return { client_id, client_secret }
}
