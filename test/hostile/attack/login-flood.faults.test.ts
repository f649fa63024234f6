import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { quantile } from '../../bench/statistics.ts'
import { startExecutable } from '../../support/executable.ts'
import { admin, usedFolder } from '../../support/service.ts'

const NETWORKS = 256
const LOGINS = 10
/** The share of logins in the time that is promised for a machine that checks so many passwords a second; a busy one has longer. */
const SHARE_MIN = 0.9
const KNOWN_MS_MAX = 5_000
const UNKNOWN_MS_MAX = 15_000
const CHECKS_PER_SECOND = 30
/** Until the flood is at its full strength. */
const WARM_UP_MS = 3_000
const FLOOD_LOGINS_MIN = 100
const entry = fileURLToPath(new URL('login-flood.ts', import.meta.url))

interface Flood {
  readonly addresses: readonly string[]
  /** Networks to log in from, the i-th of them, and within how many ms. */
  readonly unknown: Record<string, { readonly address: (i: number) => string; readonly msMax: number }>
}

const range = Array.from({ length: NETWORKS }, (_, i) => i)
const hex = (i: number) => i.toString(16).padStart(2, '0')

const floods: Record<string, Flood> = {
  '256 /24s of IPv4': {
    addresses: range.map((i) => `10.0.${i}.1`),
    unknown: { 'another /24': { address: (i) => `10.1.${i}.1`, msMax: UNKNOWN_MS_MAX } },
  },
  '256 /64s of one /56': {
    addresses: range.map((i) => `2001:db8:1:1${hex(i)}::1`),
    unknown: {
      // It has no other /64s: this one is shared with a stranger.
      'the same /56': { address: (i) => `2001:db8:1:1${hex(i)}::2`, msMax: UNKNOWN_MS_MAX },
      'another /56 of the /48': { address: (i) => `2001:db8:1:2${hex(i)}::1`, msMax: KNOWN_MS_MAX },
      'another /48': { address: (i) => `2001:db8:2:${i}::1`, msMax: KNOWN_MS_MAX },
    },
  },
}

/** Logs in, again after each `Retry-After`, and returns the milliseconds until it was let in. */
async function logIn(port: string, address: string): Promise<number> {
  const begin = performance.now()
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; retryAfter: number }>()
    const headers = { 'X-Forwarded-For': address, 'Content-Type': 'application/json' }
    request(
      { host: '127.0.0.1', port, method: 'POST', path: '/login', agent: false, headers },
      (incoming) => {
        const retryAfter = Number(incoming.headers['retry-after'])
        incoming.resume().once('end', () => resolve({ status: incoming.statusCode ?? 0, retryAfter }))
      },
    )
      .on('error', reject)
      .end(JSON.stringify(admin))
    const { status, retryAfter } = await promise
    if (status === 200) return performance.now() - begin
    assert.ok(status === 503, `${address}: ${status}`)
    await pause(retryAfter * 1000)
  }
}

/** @param checksPerSecond What the machine had time for. */
function assertLetIn(
  t: TestContext,
  what: string,
  times: readonly number[],
  msMax: number,
  checksPerSecond: number,
) {
  const shareWithin = (ms: number) => times.filter((each) => each < ms).length / times.length
  const [p50, p90, worst] = [0.5, 0.9, 1].map((at) => quantile(times, at).toFixed())
  const percent = (shareWithin(msMax) * 100).toFixed()
  t.diagnostic(
    `| ${what} | ${percent} % within ${msMax / 1000} s | p50 ${p50}, p90 ${p90}, worst ${worst} ms | ` +
      `${checksPerSecond.toFixed()} checks/s |`,
  )
  const share = shareWithin(msMax * Math.max(1, CHECKS_PER_SECOND / checksPerSecond))
  assert.ok(share >= SHARE_MIN, `${what}: ${share}`)
}

describe('right logins during wrong ones without end', () => {
  for (const [what, { addresses, unknown }] of Object.entries(floods)) {
    for (const connections of [1, 4]) {
      it(`from ${what}, ${connections} at once from each, are let in`, async (t) => {
        const data = await usedFolder(t)
        const flags = ['--data', data, '--trust-proxy', '127.0.0.1']
        const server = await startExecutable(t, flags, { isTimed: true })
        const port = new URL(server.url).port
        const known = '192.0.2.1'
        await logIn(port, known)
        const attacker = fork(entry, [port, String(connections), ...addresses])
        t.after(() => attacker.kill('SIGKILL'))
        await once(attacker, 'message')
        await pause(WARM_UP_MS)

        const tallyOf = async () => {
          attacker.send('tally')
          const [tally] = (await once(attacker, 'message')) as [Record<string, number>]
          return tally
        }
        /** Logs in, one login after the other. */
        const measure = async (where: string, address: (i: number) => string, msMax: number) => {
          const { 401: before = 0 } = await tallyOf()
          const times: number[] = []
          for (let i = 0; i < LOGINS; i += 1) times.push(await logIn(port, address(i)))
          const { 401: after = 0 } = await tallyOf()
          const seconds = times.reduce((sum, each) => sum + each, 0) / 1000
          assertLetIn(t, where, times, msMax, (after - before + LOGINS) / seconds)
        }
        for (const [where, { address, msMax }] of Object.entries(unknown))
          await measure(`${where}, unknown`, address, msMax)
        await measure('a known network', () => known, KNOWN_MS_MAX)

        const tally = await tallyOf()
        const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8')
        const memory = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024
        t.diagnostic(`the flood: ${JSON.stringify(tally)}; at most ${memory.toFixed()} MiB`)
        assert.ok((tally[401] ?? 0) > FLOOD_LOGINS_MIN, JSON.stringify(tally))
      })
    }
  }
})
