import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { HEAP_SHARE, recordMemoryMax, shareOf } from '../../../src/budget.ts'
import {
  BODY_BYTES_MAX,
  BODY_PIECES_MAX,
  HEADER_BYTES_MAX,
  LABELS_MAX,
  MEMORY_MIB_MIN,
} from '../../../src/limits.ts'
import { PLAIN_CONNECTION_BYTES, TLS_CONNECTION_BYTES } from '../../../src/server/listener.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { amountOf, recordMemory } from '../../../src/store/record-room.ts'
import { fieldsOf, fillFolder } from '../../bench/data-folders.ts'
import { getToken } from '../../support/api.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { formatRequest } from '../../support/raw-http.ts'
import { client, start } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const MEBIBYTE = 1024 * 1024
const YOUNG_BYTES = 24 * MEBIBYTE
/** In 128 MiB the kernel ends the server when all of this comes over TLS: less than MEMORY_MIB_MIN is not enough. */
const MEMORIES_MIB = [MEMORY_MIB_MIN, 256, 512]
/** Opened at once: more would wait in vain where handshakes are slow. */
const AT_ONCE = 20
const IMPORTED_ROWS = 2_000
const CHANGES = 3_000
const BODIES = 100
const LISTS = 50
const POLLS = 40
const LOGINS = 50
const TIMEOUT_MS = 600_000

let keys = 0

function labelled(name: string) {
  const labels = Array.from({ length: LABELS_MAX }, () => [`key-${(keys++).toString(36)}`, 'x'])
  return { name, hostname: 'h', port: 22, username: 'u', labels: Object.fromEntries(labels) }
}

async function inParallel(count: number, one: (i: number) => Promise<unknown>) {
  let next = 0
  const work = async () => {
    // A connection that is cut off is what the test wants.
    while (next < count) await one(next++).catch(() => {})
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

describe('with all records that the memory has room for', { skip: noMemoryGroups }, () => {
  for (const mebibytes of MEMORIES_MIB)
    for (const isTls of [false, true])
      it(
        `${mebibytes} MiB are enough while callers hold and send all that they can, over ${isTls ? 'TLS' : 'plain HTTP'}`,
        {
          timeout: TIMEOUT_MS,
        },
        (t) => fillAll(t, mebibytes, isTls),
      )
})

async function fillAll(t: TestContext, mebibytes: number, isTls: boolean) {
  const memory = mebibytes * MEBIBYTE
  const one = recordMemory(amountOf(new Configuration(100_000, fieldsOf(100_000))))
  const records = Math.floor(recordMemoryMax(memory, memory * HEAP_SHARE + YOUNG_BYTES) / one)
  const folder = await temporaryFolder(t)
  await (await start(t, { folder })).stop()
  await fillFolder(folder, records)
  const { certPath, keyPath } = await makeCertificate(t)
  const group = makeMemoryGroup(t, mebibytes)
  const tls = isTls ? ['--tls-cert', certPath, '--tls-key', keyPath] : []
  const server = await startExecutable(t, ['--data', folder, ...tls], {
    through: group.through,
    isTimed: true,
  })
  const { hostname, port } = new URL(server.url)
  const ask = createClient(server.url)
  const { Authorization } = await getToken(server.url, client)
  const authorized = { Authorization }
  // With their JSON and tags, and in an order.
  await ask('GET', '/configurations/', { headers: authorized })
  const list = await ask('GET', '/configurations/?sort=name&per_page=1', { headers: authorized })
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const begin = async (text: string, isReading = true) => {
    const raw = connect({ host: hostname, port: Number(port) })
    const socket = isTls ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw
    for (const each of new Set([raw, socket])) each.on('error', () => {})
    sockets.push(raw)
    await Promise.race([once(socket, isTls ? 'secureConnect' : 'connect'), once(raw, 'close')])
    if (isReading) socket.resume()
    else socket.pause()
    socket.write(text)
  }
  const connections = Math.floor(
    shareOf('connections', memory) / (isTls ? TLS_CONNECTION_BYTES : PLAIN_CONNECTION_BYTES),
  )
  const header = formatRequest('GET /', { 'X-Long': '' }).trimEnd() + 'a'.repeat(HEADER_BYTES_MAX - 2048)
  const body = formatRequest('POST /configurations/', {
    ...authorized,
    'Content-Length': String(BODY_BYTES_MAX),
  })
  // Nobody takes them before the turn of the import comes.
  const chunks =
    formatRequest('POST /v1/import?format=csv', { ...authorized, 'Transfer-Encoding': 'chunked' }) +
    '1\r\n \r\n'.repeat(BODY_PIECES_MAX - 1)
  const query = Array.from({ length: LABELS_MAX }, (_, i) => `label=key-${i}%3D${'v'.repeat(200)}`).join('&')
  const poll = formatRequest(`GET /configurations/?${query}`, {
    ...authorized,
    'If-None-Match': list.headers.etag ?? '',
    Prefer: 'wait=50',
  })
  const rows = Array.from({ length: IMPORTED_ROWS }, (_, i) => JSON.stringify(labelled(`i${i}`)))
  await Promise.all([
    inParallel(BODIES, () => begin(body + ' '.repeat(BODY_BYTES_MAX - 1))),
    inParallel(BODIES, () => begin(chunks)),
    inParallel(LISTS, () => begin(formatRequest('GET /configurations/', authorized), false)),
    inParallel(POLLS, () => begin(poll)),
    inParallel(2 * connections, () => begin(header)),
    inParallel(LOGINS, (i) => ask('POST', '/login', { body: { username: `n${i}`, password: 'wrong' } })),
    inParallel(CHANGES, (i) =>
      ask('PUT', `/configurations/record-${1 + (i % 10)}`, {
        headers: authorized,
        body: labelled(`record-${1 + (i % 10)}`),
      }),
    ),
    ask('POST', '/v1/import?format=jsonl&dry_run=1', {
      headers: { ...authorized, 'Content-Type': 'application/x-ndjson' },
      body: Buffer.from(rows.join('\n')),
    }).catch(() => {}),
  ])
  t.diagnostic(
    `${records} records, ${connections} connections: ${group.usedMebibytes().toFixed()} MiB in use`,
  )
  assert.equal(server.process.exitCode ?? server.process.signalCode, null)
  assert.match(server.stderr(), /"event":"connection_cut_off"/)
  assert.equal((await ask('GET', '/configurations/record-1', { headers: authorized })).status, 200)
}
