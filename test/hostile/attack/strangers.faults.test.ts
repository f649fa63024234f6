import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { quantile } from '../../bench/statistics.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { startExecutable } from '../../support/executable.ts'
import { usedFolder } from '../../support/service.ts'
import { floodNames } from './stranger.ts'

const CONNECTIONS = 300
const LASTS_MS = 10_000
const ANSWER_TIMEOUT_MS = 30_000
const entry = fileURLToPath(new URL('stranger.ts', import.meta.url))

/** What everybody else notices of a stranger's flood; prints a row of the table. */
async function suffer(t: TestContext, flood: string) {
  const isTls = flood.startsWith('TLS')
  const data = await usedFolder(t)
  const { certPath, keyPath } = await makeCertificate(t)
  const tls = isTls ? ['--tls-cert', certPath, '--tls-key', keyPath] : []
  const server = await startExecutable(t, ['--data', data, ...tls], { isTimed: true })
  const port = new URL(server.url).port
  const memory = () => {
    const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024
  }
  const kept = isTls
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1 })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 })
  t.after(() => kept.destroy())
  const ask = async (agent: HttpAgent | false) => {
    const options = { host: '127.0.0.1', port, path: '/healthz', agent, rejectUnauthorized: false }
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const make = isTls ? requestHttps : requestHttp
    make({ ...options, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) }, (incoming) => {
      incoming.resume().once('end', () => resolve(incoming.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
    assert.equal(await promise, 200)
  }
  await ask(kept)
  const before = memory()
  let peak = before
  const child = fork(entry, [flood, port, String(CONNECTIONS)])
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  const end = performance.now() + LASTS_MS
  const measure = async (agent: HttpAgent | false) => {
    const times: number[] = []
    while (performance.now() < end) {
      const begin = performance.now()
      await ask(agent)
      times.push(performance.now() - begin)
      peak = Math.max(peak, memory())
      await pause(2)
    }
    return `p99 ${quantile(times, 0.99).toFixed()}, worst ${quantile(times, 1).toFixed()} ms`
  }
  const [ofKept, ofNew] = await Promise.all([measure(kept), measure(false)])
  t.diagnostic(`| ${flood} | ${ofKept} | ${ofNew} | +${(peak - before).toFixed()} MiB |`)
}

describe(`${CONNECTIONS} connections of a stranger: a kept caller, newcomers, memory`, () => {
  for (const flood of floodNames)
    it(`that send ${flood} fail no request of others`, async (t) => {
      await suffer(t, flood)
    })
})
