import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { formatRequest, parseAnswers, sendRaw } from '../../support/raw-http.ts'
import { type AttackedServer, startAttacked } from './attacked-server.ts'

const RECORDS = 500
const PIPELINED = 10_000
const GROWTH_MIB_MAX = 100
/** One read and one request of each connection, and what the program takes by itself. */
const MEMORY_MIB_MAX = 500

async function open(t: TestContext, { url }: AttackedServer): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

describe('500 connections', () => {
  it('cannot fill the memory with queued requests, and leave the server usable', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const running = await server.attack('pipelines', 500)
    let most = 0
    const end = performance.now() + 20_000
    while (performance.now() < end) {
      most = Math.max(most, server.memory())
      await pause(100)
    }
    t.diagnostic(`${most.toFixed()} MiB, ${JSON.stringify(await running.stop())}`)
    assert.ok(most < MEMORY_MIB_MAX, `${most} MiB`)
    assert.doesNotMatch(server.stderr(), /connection_cut_off/)
    const { failures } = await server.client('good').work(100)
    assert.deepEqual(failures, [])
  })
})

describe('a single connection', () => {
  it('gets answers to 10,000 pipelined requests in order', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const nameOf = (i: number) => `record-${(i % RECORDS) + 1}`
    const bytes = Array.from({ length: PIPELINED }, (_, i) =>
      formatRequest(`GET /configurations/${nameOf(i)}`, { Authorization: server.bearer }),
    ).join('')
    let answers = 0
    const received = await sendRaw(server.url, bytes, {
      until: (text, piece) => {
        // Counting is slow, so it only starts once the end of a piece suggests that all has come.
        answers =
          text.length > PIPELINED * 100 && piece.endsWith(']}') ? text.split('HTTP/1.1 ').length - 1 : 0
        return answers === PIPELINED
      },
    })
    const names = parseAnswers(received).map(({ body }) => /"name":"([^"]+)"/.exec(body)?.[1])
    assert.deepEqual(
      names,
      Array.from({ length: PIPELINED }, (_, i) => nameOf(i)),
    )
  })

  it('cannot fill the memory with queued requests', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const socket = await open(t, server)
    socket.pause()
    const lists = formatRequest('GET /configurations/', { Authorization: server.bearer })
    const shortest = 'GET / HTTP/1.1\r\nHost:a\r\n\r\n'.repeat(PIPELINED)
    socket.write(lists.repeat(PIPELINED / 50))
    const before = server.memory()
    const more = () => {
      while (socket.write(shortest));
    }
    socket.on('drain', more)
    more()
    // Long enough to send hundreds of MiB, if the server read them.
    await pause(10_000)
    const growth = server.memory() - before
    t.diagnostic(`${growth.toFixed()} MiB more`)
    assert.ok(growth < GROWTH_MIB_MAX, `${growth} MiB more`)
  })
})
