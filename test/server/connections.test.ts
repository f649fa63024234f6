import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { Connections } from '../../src/server/connections.ts'
import { IncomingRequest } from '../../src/server/incoming-request.ts'
import { makeCertificate } from '../support/certificate.ts'
import { holdFor } from '../support/properties/hold-property.ts'

const MAX = 3

function setUp() {
  const sockets = Array.from({ length: 8 }, () => new Socket())
  const gaveWay: number[] = []
  const connections = new Connections(MAX, ({ socket }) => gaveWay.push(sockets.indexOf(socket)))
  const at = (position: number) => sockets[position] ?? assert.fail('there are only 8')
  const of = (position: number) => connections.of(at(position)) ?? assert.fail('it was never added')
  const add = (...positions: number[]) => positions.forEach((position) => void connections.add(at(position)))
  return { connections, at, of, add, gaveWay }
}

describe('open connections', () => {
  it('give way, the longest idle first, when there is one too many', () => {
    const { connections, of, add, gaveWay } = setUp()
    add(0, 1, 2)
    assert.deepEqual(gaveWay, [])
    connections.touch(of(0))
    add(3)
    assert.deepEqual(gaveWay, [1])
    add(4)
    assert.deepEqual(gaveWay, [1, 2])
  })

  it('are not idle while an answer waits on purpose; those give way last', () => {
    const { connections, of, add, gaveWay } = setUp()
    add(0, 1, 2)
    const waiting = Object.assign(Object.create(IncomingRequest.prototype), { isWaiting: true })
    for (const position of [0, 1]) of(position).last = waiting
    add(3)
    assert.deepEqual(gaveWay, [2])
    of(3).last = waiting
    add(4)
    assert.equal(gaveWay.length, 2)
    waiting.isWaiting = false
    connections.touch(of(4))
    add(5)
    assert.ok(!gaveWay.includes(4))
  })

  it('give way only to authenticated ones once they are authenticated', () => {
    const { connections, of, add, gaveWay } = setUp()
    add(0, 1)
    connections.trust(of(0), 'a')
    connections.trust(of(1), 'a')
    add(2, 3, 4)
    assert.deepEqual(gaveWay, [2, 3])
    connections.trust(of(4), 'a')
    connections.touch(of(0))
    add(5)
    assert.deepEqual(gaveWay, [2, 3, 1])
  })

  it('of the account with most give way to newcomers, and those of others only when newcomers are many', () => {
    const gaveWay: string[] = []
    const sockets = new Map<Socket, string>()
    const connections = new Connections(8, ({ socket }) => gaveWay.push(sockets.get(socket) ?? ''))
    const add = (name: string, account?: string) => {
      const socket = new Socket()
      sockets.set(socket, name)
      connections.add(socket)
      const connection = connections.of(socket) ?? assert.fail('it was never added')
      if (account !== undefined) connections.trust(connection, account)
      return connection
    }
    for (const i of [1, 2, 3, 4, 5]) add(`large${i}`, 'large')
    const small = [1, 2].map((i) => add(`small${i}`, 'small'))
    add('new1')
    add('new2')
    add('new3')
    assert.deepEqual(gaveWay, ['large1', 'large2'])
    // A quarter of all are newcomers now, and one more.
    add('new4')
    assert.deepEqual(gaveWay, ['large1', 'large2', 'new1'])
    for (const connection of small) connections.trust(connection, 'large')
    assert.equal(connections.count, 8)
    for (const connection of [...sockets.keys()]) connection.destroy()
  })

  it('give way in the right order after any sequence of actions', (t) => {
    const actions = fc.array(
      fc.record({ act: fc.constantFrom('add', 'add', 'touch', 'trust', 'end'), which: fc.nat(3) }),
      { maxLength: 60 },
    )
    holdFor(
      t,
      actions,
      (some) => {
        const sockets: Socket[] = []
        const gaveWay: Socket[] = []
        const connections = new Connections(MAX, ({ socket }) => gaveWay.push(socket))
        /** Each kind, in the order in which they give way. */
        const strangers: Socket[] = []
        const known: Socket[] = []
        const expected: Socket[] = []
        for (const { act, which } of some) {
          if (act === 'add') {
            const socket = new Socket()
            if (strangers.length + known.length === MAX) {
              const quietest = (strangers.length > 0 ? strangers : known).shift()
              if (quietest !== undefined) expected.push(quietest)
            }
            strangers.push(socket)
            sockets.push(socket)
            connections.add(socket)
            continue
          }
          const socket = sockets.at(-1 - which)
          const group = [strangers, known].find((one) => socket !== undefined && one.includes(socket))
          if (socket === undefined || group === undefined) continue
          const connection = connections.of(socket) ?? assert.fail('it was never added')
          group.splice(group.indexOf(socket), 1)
          if (act === 'end') socket.emit('close')
          else if (act === 'touch') {
            group.push(socket)
            connections.touch(connection)
          } else {
            known.push(socket)
            connections.touch(connection)
            connections.trust(connection, 'a')
          }
        }
        assert.deepEqual(
          gaveWay.map((socket) => sockets.indexOf(socket)),
          expected.map((socket) => sockets.indexOf(socket)),
        )
      },
      2_000,
    )
  })

  it('free their place when they end', async () => {
    const { at, add, gaveWay } = setUp()
    add(0, 1, 2)
    const closed = once(at(1), 'close')
    at(1).destroy()
    await closed
    add(3)
    assert.deepEqual(gaveWay, [])
  })

  it('give way by the activity of the TLS connection that they carry, and close with it', async (t) => {
    const { ask, connections } = await serveTls(t)
    const [first, second] = [await ask(), await ask()]
    connections.touch(first.connection)
    const gone = once(second.client, 'close')
    const third = await ask()
    await gone
    connections.trust(first.connection, 'a')
    const goneToo = once(third.client, 'close')
    await ask()
    await ask()
    await goneToo
    assert.equal(first.client.destroyed, false)
  })
})

/** A server with room for two; `ask` connects to it and returns both ends. */
async function serveTls(t: TestContext) {
  const { cert, key } = await makeCertificate(t)
  const connections = new Connections(2, ({ socket }) => socket.destroy())
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
    const [socket] = await served
    return {
      client: client.resume(),
      connection: connections.of(socket) ?? assert.fail('it was never joined'),
    }
  }
  return { connections, ask }
}
