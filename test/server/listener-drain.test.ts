import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { freePort } from '../support/free-port.ts'
import { createClient } from '../support/http-client.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const body = JSON.stringify({ name: 'inflight', hostname: 'h', port: 1, username: 'u' })

async function open(t: TestContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
  t.after(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

describe('a server that stops', () => {
  it('answers requests in flight, closes idle connections and accepts no new ones', async (t) => {
    const files = createFailingFiles()
    const folder = await temporaryFolder(t)
    // Not one that another process may get when it is free again.
    const port = String(await freePort())
    const service = await start(t, { files, folder, place: ['--host', '127.0.0.1', '--port', port] })
    const Authorization = await service.bearer()
    const [idle, used] = [await open(t, service.url), await open(t, service.url)]
    used.write(formatRequest('GET /healthz'))
    await once(used, 'data')
    const closed = [idle, used].map((socket) => once(socket, 'close'))
    const held = holdUp(files, 'datasync')
    const inFlight = sendRaw(service.url, formatRequest('POST /configurations/', { Authorization }, body))
    await held.begun

    const stopped = service.stop()
    await Promise.all(closed)
    await assert.rejects(open(t, service.url), { code: 'ECONNREFUSED' })
    held.release()
    const received = await inFlight
    await stopped
    assert.deepEqual(
      parseAnswers(received).map(({ status }) => status),
      [200],
    )
    assert.match(received, /^connection: close\r$/im)

    const next = await start(t, { folder })
    const ask = createClient(next.url, { Authorization })
    assert.equal((await ask('GET', '/configurations/inflight')).status, 200)
  })

  it('cuts off in time requests that do not end', async (t) => {
    skipPauses(t, 3_600_000)
    const service = await start(t, { flags: ['--shutdown-timeout', '1h'] })
    const socket = await open(t, service.url)
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
    // An answer on another connection shows that the bytes before it have arrived.
    await createClient(service.url)('GET', '/healthz')
    const closed = once(socket, 'close')
    await service.stop()
    await closed
  })
})
