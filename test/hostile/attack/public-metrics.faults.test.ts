import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.ts'
import { startExecutable } from '../../support/executable.ts'
import { usedFolder } from '../../support/service.ts'

const CALLERS = 250
const WARM_UP_MS = 1_000
const LASTS_MS = 4_000
const SLOWER_MAX = 4
/** Noise from other programs only adds time, so the best of this many rounds counts. */
const ROUNDS_MAX = 5
const program = join(import.meta.dirname, 'callers.ts')

/** @returns How long another caller waits for an answer while many ask for a path: the median, in milliseconds. */
async function medianBeside(t: TestContext, url: string, path: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    request(`${url}/healthz`, { agent }, (incoming) => incoming.resume().once('end', resolve))
      .on('error', reject)
      .end()
    return promise
  }
  const callers = spawn(process.execPath, [program, url + path, `${CALLERS}`], { stdio: 'ignore' })
  t.after(() => callers.kill('SIGKILL'))
  await pause(WARM_UP_MS)
  const times: number[] = []
  const end = performance.now() + LASTS_MS
  while (performance.now() < end) {
    const begin = performance.now()
    await ask()
    times.push(performance.now() - begin)
    await pause(2)
  }
  callers.kill('SIGKILL')
  await once(callers, 'close')
  agent.destroy()
  return quantile(times, 0.5)
}

describe(`${CALLERS} callers of the public metrics`, () => {
  it(`delay others at most ${SLOWER_MAX} times as much as callers of /healthz`, async (t) => {
    const { url } = await startExecutable(t, ['--metrics-public', '--data', await usedFolder(t)])
    let ratio = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS_MAX && ratio > SLOWER_MAX; round += 1) {
      const health = await medianBeside(t, url, '/healthz')
      const metrics = await medianBeside(t, url, '/metrics')
      t.diagnostic(`median beside /healthz ${health.toFixed(1)} ms, beside /metrics ${metrics.toFixed(1)} ms`)
      ratio = Math.min(ratio, metrics / health)
    }
    assert.ok(ratio <= SLOWER_MAX, `${ratio.toFixed(1)} times`)
  })
})
