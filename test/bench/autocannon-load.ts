import autocannon from 'autocannon'
import { CONNECTIONS, type Load, type LoadResult, UNIQUE_DIGITS } from './load.ts'

/** Milliseconds between two looks at whether the run is over. */
const LOOK_MS = 50

let unique = 0

/** @throws {Error} as `measureLoad` does. */
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
  const cpuBefore = process.cpuUsage()
  const result = await autocannon({
    url,
    requests,
    connections,
    duration: milliseconds / 1000,
    sampleInt: LOOK_MS,
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  const count = Object.values(result.statusCodeStats).reduce((sum, each) => sum + each.count, 0)
  const expected = result.statusCodeStats[status]?.count ?? 0
  if (result.errors > 0 || expected !== count || count === 0) {
    const statuses = JSON.stringify(result.statusCodeStats)
    throw new Error(
      `${method} ${paths[0]} should be answered ${status}, but autocannon says: ${statuses}, ${result.errors} errors`,
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
