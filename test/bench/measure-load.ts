import { cpus } from 'node:os'
import { missing } from '../support/debian.ts'
import { runAutocannon } from './autocannon-load.ts'
import type { Sample } from './figure.ts'
import type { Load } from './load.ts'
import type { ServerProcess } from './server-process.ts'
import { runWrk } from './wrk-load.ts'

export const generator = missing('wrk') === false ? 'wrk' : 'autocannon'

/**
 * Puts a load on a server, each connection sending the next request when it has the answer to the last.
 *
 * @throws {Error} when any answer has another status than it must have, or none came: then something else was measured
 *   than was meant.
 */
export async function measureLoad(server: ServerProcess, load: Load, milliseconds: number): Promise<Sample> {
  const cpuBefore = server.cpuSeconds()
  const machineBefore = machineCpuSeconds()
  const begin = performance.now()
  const run = generator === 'wrk' ? runWrk : runAutocannon
  const { requests, seconds, p50, p99, generatorSeconds } = await run(server.url, load, milliseconds)
  const cpu = server.cpuSeconds() - cpuBefore
  const wholeSeconds = (performance.now() - begin) / 1000
  return {
    cpuMicroseconds: (cpu * 1e6) / requests,
    perSecond: requests / seconds,
    perCpuSecond: requests / cpu,
    latencyP50: p50,
    latencyP99: p99,
    generatorCores: generatorSeconds / seconds,
    otherCores: Math.max(0, (machineCpuSeconds() - machineBefore - cpu - generatorSeconds) / wholeSeconds),
  }
}

function machineCpuSeconds(): number {
  const times = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq)
  return times.reduce((sum, time) => sum + time, 0) / 1000
}
