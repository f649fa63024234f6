import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { REQUEST_TIMEOUT_MS, TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, TIMEOUT_CHECK_MS } from '../../src/server/http-server.ts'
import { formatRequest } from '../support/raw-http.ts'
import { client as credentials } from '../support/service.ts'
import { type AttackedServer, startAttacked } from './attack/attacked-server.ts'

/** A busy machine may fire late, never early. */
const LATE_MS_MAX = 5_000
/** Timers count whole milliseconds. */
const EARLY_MS_MAX = 50
const RECORDS = 20_000
/** Few enough that the list is sent in one piece. */
const FEW_RECORDS = 1_000
const LOOK_MS = 200

interface Outcome {
  readonly received: string
  /** Measured from the first byte. */
  readonly milliseconds: number
}

/** Writes at once what is due at 0, then the rest, and waits until the connection closes. */
async function live(
  url: string,
  first: string,
  { more, everyMs = 5_000 }: { more?: string; everyMs?: number } = {},
): Promise<Outcome> {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  const begin = performance.now()
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => (received += text))
  socket.on('error', () => {})
  if (first !== '') socket.write(first)
  const timer = more === undefined ? undefined : setInterval(() => socket.write(more), everyMs)
  await once(socket, 'close')
  clearInterval(timer)
  return { received, milliseconds: performance.now() - begin }
}

/**
 * Requests more than a connection can buffer, reads nothing, and returns how long the server keeps the connection.
 * The client cannot see the end itself, because it does not read.
 *
 * @param more To send each second.
 */
async function untilCutOff(t: TestContext, server: AttackedServer, more?: string): Promise<number> {
  const { hostname, port } = new URL(server.url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => void socket.destroy())
  socket.pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(formatRequest('GET /configurations/', { Authorization: server.bearer }).repeat(100))
  const begin = performance.now()
  const timer = setInterval(() => more !== undefined && socket.write(more), 1_000)
  t.after(() => clearInterval(timer))
  const { localPort = 0 } = socket
  while (isEstablished(Number(port), localPort)) await pause(LOOK_MS)
  return performance.now() - begin
}

/** Whether the server's side of a connection is established, by the kernel's table (IPv4). */
function isEstablished(serverPort: number, clientPort: number): boolean {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const line = new RegExp(`: [0-9A-F]{8}:${hex(serverPort)} [0-9A-F]{8}:${hex(clientPort)} 01 `)
  return line.test(readFileSync('/proc/net/tcp', 'latin1'))
}

function assertBetween(milliseconds: number, min: number) {
  const max = min + TIMEOUT_CHECK_MS + LATE_MS_MAX
  assert.ok(
    milliseconds > min - EARLY_MS_MAX && milliseconds < max,
    `${milliseconds} ms, not ${min} to ${max}`,
  )
}

describe('time-outs', { concurrency: true, timeout: 300_000 }, () => {
  const health = formatRequest('GET /healthz')

  it('answer slow headers with 408 after 10 s', async (t) => {
    const server = await startAttacked(t, { records: 1 })
    const { received, milliseconds } = await live(server.url, 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: ', {
      more: 'x',
      everyMs: 500,
    })
    assert.match(received, /^HTTP\/1\.1 408 /)
    assertBetween(milliseconds, HEADERS_TIMEOUT_MS)
  })

  it('close a connection after 10 s if nothing was sent', async (t) => {
    const server = await startAttacked(t, { records: 1 })
    const { received, milliseconds } = await live(server.url, '')
    assert.match(received, /^(HTTP\/1\.1 408 |$)/)
    assertBetween(milliseconds, HEADERS_TIMEOUT_MS)
  })

  it('answer a slow body with 408 after 30 s', async (t) => {
    const server = await startAttacked(t, { records: 1 })
    const body = JSON.stringify(credentials)
    const first = formatRequest('POST /v1/auth/token', { 'Content-Length': String(body.length) })
    const { received, milliseconds } = await live(server.url, first, { more: ' ', everyMs: 5_000 })
    assert.match(received, /^HTTP\/1\.1 408 /)
    assertBetween(milliseconds, REQUEST_TIMEOUT_MS)
  })

  it('close an idle connection 75 s after a request', async (t) => {
    const server = await startAttacked(t, { records: 1 })
    const { received, milliseconds } = await live(server.url, health)
    assert.match(received, /^HTTP\/1\.1 200 .*\{"status":"ok"\}$/s)
    assertBetween(milliseconds, KEEP_ALIVE_TIMEOUT_MS)
  })

  it('close a connection after 90 s if the client does not read', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    assertBetween(await untilCutOff(t, server), TAKING_TIMEOUT_MS)
  })

  it('close a connection after 90 s if the client does not read, but goes on sending', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    assertBetween(await untilCutOff(t, server, '\r\n'), TAKING_TIMEOUT_MS)
  })

  it('close a connection after 90 s if the client does not read a short answer, but goes on sending', async (t) => {
    const server = await startAttacked(t, { records: FEW_RECORDS })
    assertBetween(await untilCutOff(t, server, '\r\n'), TAKING_TIMEOUT_MS)
  })

  it('do not affect a client that stays within them', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const client = server.client('patient')
    const slow = live(server.url, 'GET / HTTP/1.1\r\n')
    const { failures } = await client.work(3_000)
    assert.deepEqual(failures, [])
    assert.equal(client.keptConnections, 1)
    await slow
  })
})
