import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { quantile } from '../../bench/statistics.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { startExecutable } from '../../support/executable.ts'
import { client, usedFolder } from '../../support/service.ts'
import { floodNames, isOverTls, promisedFloods } from './stranger.ts'

const LASTS_MS = 10_000
const GIVEN_BACK_AFTER_MS = 30_000
const ANSWER_TIMEOUT_MS = 30_000
const entry = fileURLToPath(new URL('stranger.ts', import.meta.url))

interface Call {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/**
 * What everybody else notices of a stranger's flood; prints a row of the table.
 *
 * @param from The address of the stranger; that of the others is 127.0.0.1.
 */
async function suffer(t: TestContext, flood: string, from = '127.0.0.1') {
  const isTls = isOverTls(flood)
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
  const ask = async (agent: HttpAgent | false, { body, ...call }: Call) => {
    const options = { host: '127.0.0.1', port, agent, rejectUnauthorized: false, ...call }
    const make = isTls ? requestHttps : requestHttp
    const outgoing = make({ ...options, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
    outgoing.end(body)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const text = Buffer.concat(await incoming.toArray()).toString()
    assert.equal(incoming.statusCode, 200, text)
    return text
  }
  const token = await ask(kept, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(client),
  })
  const headers = { Authorization: `Bearer ${JSON.parse(token).access_token}` }
  const before = memory()
  let peak = before
  const child = fork(entry, [flood, port, from])
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  const end = performance.now() + LASTS_MS
  const measure = async (agent: HttpAgent | false, call: Call) => {
    const times: number[] = []
    while (performance.now() < end) {
      const begin = performance.now()
      await ask(agent, call)
      times.push(performance.now() - begin)
      peak = Math.max(peak, memory())
      await pause(2)
    }
    return `p99 ${quantile(times, 0.99).toFixed()}, worst ${quantile(times, 1).toFixed()} ms`
  }
  const [ofKept, ofNew] = await Promise.all([
    measure(kept, { path: '/configurations/', headers }),
    measure(false, { path: '/healthz' }),
  ])
  child.kill('SIGKILL')
  await pause(GIVEN_BACK_AFTER_MS)
  const [most, later] = [peak, memory()].map((mebibytes) => (mebibytes - before).toFixed())
  t.diagnostic(`| ${flood} | ${from} | ${ofKept} | ${ofNew} | ${most} MiB, later ${later} |`)
}

describe('floods of a stranger: a kept caller, newcomers, memory at most and 30 s later', () => {
  for (const flood of floodNames)
    it(`${flood} fail no request of others`, async (t) => {
      await suffer(t, flood)
    })
  for (const flood of promisedFloods)
    it(`${flood}, from another address, fail no request of others`, async (t) => {
      await suffer(t, flood, '127.0.0.2')
    })
})
