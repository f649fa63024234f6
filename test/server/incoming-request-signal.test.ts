import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { HALF_CLOSED_PROBE_MS, watchForEnd } from '../../src/server/incoming-request.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

/** A client that has sent a request, and the answer that it waits for. */
async function setUp(t: TestContext, request = GET): Promise<{ client: Socket; response: ServerResponse }> {
  const server = Object.assign(createServer(), { httpAllowHalfOpen: true }).listen(0, '127.0.0.1')
  t.after(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.on('error', () => {})
  t.after(() => void client.destroy())
  client.write(request)
  const [, response] = await once(server, 'request')
  return { client, response }
}

describe('the signal of a connection that goes', () => {
  it('is aborted by a reset', async (t) => {
    const { client, response } = await setUp(t)
    const { signal } = watchForEnd(response)
    assert.equal(signal.aborted, false)
    client.resetAndDestroy()
    await once(signal, 'abort')
    assert.equal(signal.reason.code, 'client_gone')
  })

  it('is aborted when a client has closed that had sent everything', async (t) => {
    skipPauses(t, HALF_CLOSED_PROBE_MS)
    const { client, response } = await setUp(t)
    const { signal } = watchForEnd(response)
    client.destroy()
    await once(signal, 'abort')
  })

  it('is aborted also when the client had closed before', async (t) => {
    skipPauses(t, HALF_CLOSED_PROBE_MS)
    const { client, response } = await setUp(t)
    const ended = once(response.req.socket, 'end')
    client.destroy()
    await ended
    await once(watchForEnd(response).signal, 'abort')
  })

  it('is aborted from the start when the connection has gone', async (t) => {
    const { client, response } = await setUp(t)
    const closed = once(response, 'close')
    client.resetAndDestroy()
    await closed
    assert.equal(watchForEnd(response).signal.aborted, true)
  })

  it('is not aborted by a client that closes its half and waits', async (t) => {
    skipPauses(t, HALF_CLOSED_PROBE_MS)
    const { client, response } = await setUp(t)
    const { signal } = watchForEnd(response)
    let received = ''
    client.on('data', (bytes) => {
      received += bytes
      const probes = received.match(/102 Processing/g)?.length ?? 0
      if (probes >= 2 && !response.headersSent) response.end('here')
    })
    client.end()
    await once(client, 'end')
    assert.match(received, /^(HTTP\/1\.1 102 Processing\r\n\r\n){2,}HTTP\/1\.1 200 OK\r\n.*here$/s)
    assert.equal(signal.aborted, true, 'it ends with the answer')
  })

  it('sends nothing before the answer to a client of HTTP/1.0', async (t) => {
    const { client, response } = await setUp(t, GET.replace('1.1', '1.0'))
    watchForEnd(response)
    const ended = once(response.req.socket, 'end')
    client.end()
    await ended
    response.end('here')
    assert.match(Buffer.concat(await client.toArray()).toString(), /^HTTP\/1\.1 200 OK/)
  })

  it('leaves nothing on a connection that is used again', async (t) => {
    const { client, response } = await setUp(t)
    const { socket } = response.req
    const before = socket.listenerCount('end')
    watchForEnd(response)
    const closed = once(response, 'close')
    response.end()
    await closed
    assert.equal(socket.listenerCount('end'), before)
    client.destroy()
  })
})
