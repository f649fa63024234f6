import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { Connections } from '../../src/server/connections.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'

const MAX = 3

function setUp() {
  const sockets = Array.from({ length: 8 }, () => new Socket())
  const gaveWay: number[] = []
  const connections = new Connections(MAX, (socket) => gaveWay.push(sockets.indexOf(socket)))
  const at = (position: number) => sockets[position] ?? assert.fail('there are only 8')
  const add = (...positions: number[]) => positions.forEach((position) => void connections.add(at(position)))
  return { connections, at, add, gaveWay }
}

describe('open connections', () => {
  it('give way, the one that has been quiet for longest, when there is one too many', () => {
    const { connections, at, add, gaveWay } = setUp()
    add(0, 1, 2)
    assert.deepEqual(gaveWay, [])
    connections.touch(at(0))
    add(3)
    assert.deepEqual(gaveWay, [1])
    add(4)
    assert.deepEqual(gaveWay, [1, 2])
  })

  it('are held, save those that were paused before, and go on', () => {
    const { connections, at, add } = setUp()
    add(0, 1, 2)
    connections.trust(at(0))
    at(1).pause()
    const goOn = connections.hold()
    const paused = () => [0, 1, 2].map((position) => at(position).isPaused())
    assert.deepEqual(paused(), [true, true, true])
    goOn()
    assert.deepEqual(paused(), [false, true, false])
  })

  it('give way only to one of their own kind when they have shown a good credential', () => {
    const { connections, at, add, gaveWay } = setUp()
    add(0, 1)
    connections.trust(at(0))
    connections.trust(at(1))
    add(2, 3, 4)
    assert.deepEqual(gaveWay, [2, 3])
    connections.trust(at(4))
    connections.touch(at(0))
    add(5)
    assert.deepEqual(gaveWay, [2, 3, 1])
  })

  it('leave their place when they end', async () => {
    const { at, add, gaveWay } = setUp()
    add(0, 1, 2)
    const closed = new Promise((resolve) => at(1).once('close', resolve))
    at(1).destroy()
    await closed
    add(3)
    assert.deepEqual(gaveWay, [])
  })

  it('give way with the TLS connection that they carry, which is what is looked at', {
    skip: noOpenSsl,
  }, async (t) => {
    const { ask, connections } = await serveTls(t)
    const [first, second] = [await ask(), await ask()]
    connections.touch(first.served)
    const gone = once(second.client, 'close')
    const third = await ask()
    await gone
    connections.trust(first.served)
    const goneToo = once(third.client, 'close')
    await ask()
    await ask()
    await goneToo
    assert.equal(first.client.destroyed, false)
  })
})

/** A server with room for two; `ask` connects to it and gives both ends. */
async function serveTls(t: TestContext) {
  const { cert, key } = await makeCertificate(t)
  const connections = new Connections(2, (socket) => socket.destroy())
  const server = createTlsServer({ cert, key })
  server.on('connection', (socket: Socket) => connections.add(socket))
  server.on('secureConnection', (socket) => {
    connections.join(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    connections.destroyAll()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = async () => {
    const served = once(server, 'secureConnection') as Promise<[TLSSocket]>
    const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    t.after(() => void client.destroy())
    client.on('error', () => {})
    return { client: client.resume(), served: (await served)[0] }
  }
  return { connections, ask }
}
