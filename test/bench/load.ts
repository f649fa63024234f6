import { cpus } from 'node:os'
import autocannon from 'autocannon'
import type { Sample } from './comparison.ts'
import type { ServerProcess } from './server-process.ts'

export const CONNECTIONS = 32
const END_CHECK_MS = 50

/** One request, sent again and again; `[<id>]` in its body becomes another text each time. */
export interface Load {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Requests before the measurement, for the compiler to have done its work. */
  readonly warmUpRequests: number
  readonly requests: number
}

/**
 * Puts a load on a server, each connection sending the next request when it has the answer to the last.
 *
 * @throws {Error} when any answer is not 2xx: then something else was measured than was meant.
 */
export async function measureLoad(server: ServerProcess, load: Load): Promise<Sample> {
  await send(server.url, load, load.warmUpRequests)
  const cpuBefore = server.cpuSeconds()
  const machineBefore = machineCpuSeconds()
  const { seconds, generatorSeconds } = await send(server.url, load, load.requests)
  const cpu = server.cpuSeconds() - cpuBefore
  return {
    cpuMicroseconds: (cpu * 1e6) / load.requests,
    perSecond: load.requests / seconds,
    generatorCores: generatorSeconds / seconds,
    otherCores: Math.max(0, (machineCpuSeconds() - machineBefore - cpu - generatorSeconds) / seconds),
  }
}

function machineCpuSeconds(): number {
  const times = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq)
  return times.reduce((sum, time) => sum + time, 0) / 1000
}

async function send(url: string, { path, method = 'GET', headers = {}, body }: Load, requests: number) {
  // Autocannon finds out only some time later that it is done, so the last answer is timed here.
  const start = performance.now()
  const cpuStart = process.cpuUsage()
  let seconds = 0
  let generatorSeconds = 0
  const onDone = () => {
    seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpuStart)
    generatorSeconds = (user + system) / 1e6
  }
  const result = await autocannon({
    url: url + path,
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    idReplacement: body?.includes('[<id>]') ?? false,
    connections: CONNECTIONS,
    amount: requests,
    sampleInt: END_CHECK_MS,
    setupClient: (client) => client.on('done', onDone),
  })
  if (result['2xx'] !== requests || result.errors > 0) {
    const statuses = JSON.stringify(result.statusCodeStats)
    throw new Error(
      `${method} ${path}: not all of ${requests} requests went well: ${statuses}, ${result.errors} errors`,
    )
  }
  return { seconds, generatorSeconds }
}
