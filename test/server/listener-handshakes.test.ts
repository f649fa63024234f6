import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { textReply } from '../../src/http/message.ts'
import { Listener } from '../../src/server/listener.ts'
import { makeCertificate } from '../support/certificate.ts'
import { holdTurns } from '../support/held-turns.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** A listener for TLS whose turns the test gives. */
async function setUp(t: TestContext) {
  const { scheduler, takeTurns, callers, waiting } = holdTurns()
  const listener = new Listener({
    app: () => textReply(200, ''),
    scheduler,
    log: createMemoryLog(),
    hasAccessLog: false,
    tls: await makeCertificate(t),
  })
  const address = await listener.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => listener.drain(0))
  const options = { host: '127.0.0.1', port: address?.port ?? 0, rejectUnauthorized: false }
  const accepted = async (count: number) => {
    while (waiting() < count) await new Promise((resolve) => setImmediate(resolve))
  }
  const close = (client: Socket) => t.after(() => void client.destroy())
  return { options, takeTurns, callers, accepted, close }
}

describe('TLS handshakes', () => {
  it('begin in the turns of the network that they come from', async (t) => {
    const { options, takeTurns, callers, accepted, close } = await setUp(t)
    const clients = [connectTls(options), connectTls(options)]
    clients.forEach(close)
    let secured = 0
    for (const client of clients) client.once('secureConnect', () => (secured += 1))
    await accepted(2)
    for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([callers, secured], [['127.0.0.1', '127.0.0.1'], 0])
    const both = Promise.all(clients.map((client) => once(client, 'secureConnect')))
    takeTurns()
    await both
  })

  it('survive clients that reset the connection before their turn', async (t) => {
    const { options, takeTurns, accepted, close } = await setUp(t)
    const gone = connect(options)
    await once(gone, 'connect')
    gone.write('x')
    gone.resetAndDestroy()
    await accepted(1)
    const client = connectTls(options)
    close(client)
    await accepted(2)
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
    takeTurns()
    await once(client, 'secureConnect')
  })

  it('are not read before their turn', async (t) => {
    const { options, accepted, close } = await setUp(t)
    const sockets: Socket[] = []
    const keep = (message: unknown) => void sockets.push((message as { socket: Socket }).socket)
    subscribe('net.server.socket', keep)
    t.after(() => unsubscribe('net.server.socket', keep))
    const client = connect(options)
    close(client)
    await new Promise((resolve) => client.write('x'.repeat(32 * 1024), resolve))
    await accepted(1)
    for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(
      sockets.map(({ bytesRead }) => bytesRead),
      [0],
    )
  })
})
