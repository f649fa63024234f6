import autocannon from 'autocannon'
import { CONNECTIONS, type Load, type LoadResult, UNIQUE_DIGITS } from './load.ts'

/** Milliseconds between two looks at whether the run is over. */
const LOOK_MS = 50

let unique = 0

/**
 * Its times are whole milliseconds.
 *
 * @throws {Error} as `measureLoad` does.
 */
export async function runAutocannon(url: string, load: Load, milliseconds: number): Promise<LoadResult> {
  const { method = 'GET', paths, headers = {}, body, status = 200, connections = CONNECTIONS } = load
  const types = body === undefined ? {} : { 'Content-Type': 'application/json' }
  const setupRequest = (request: autocannon.Request) => {
    const digits = String(unique++).padStart(UNIQUE_DIGITS.length, '0')
    return { ...request, body: request.body?.replaceAll(UNIQUE_DIGITS, digits) }
  }
  const requests = paths.map((path) => ({
    method,
    path,
    headers: { ...types, ...headers },
    ...(body === undefined ? {} : { body }),
    ...(body?.includes(UNIQUE_DIGITS) ? { setupRequest } : {}),
  }))
  let broken = 0
  const cpuBefore = process.cpuUsage()
  const result = await autocannon({
    url,
    requests,
    connections,
    duration: milliseconds / 1000,
    sampleInt: LOOK_MS,
    setupClient: (client) => {
      // When a connection ends without an answer, it makes another, and does not count this as an error.
      let unanswered = 0
      client.on('request', () => (broken += unanswered++)).on('response', () => unanswered--)
    },
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  const count = Object.values(result.statusCodeStats).reduce((sum, each) => sum + each.count, 0)
  const expected = result.statusCodeStats[status]?.count ?? 0
  const errors = result.errors + broken
  if (errors > 0 || expected !== count || count === 0) {
    const statuses = JSON.stringify(result.statusCodeStats)
    throw new Error(
      `${method} ${paths[0]} should be answered ${status}, but autocannon says: ${statuses}, ${errors} errors`,
    )
  }
  return {
    requests: count,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    generatorSeconds: (user + system) / 1e6,
  }
}
