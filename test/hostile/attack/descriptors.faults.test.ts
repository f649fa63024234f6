import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../../src/storage/file/file-storage.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { fieldsOf } from '../../bench/data-folders.ts'
import { logIn } from '../../support/api.ts'
import { missing } from '../../support/debian.ts'
import { eventually } from '../../support/eventually.ts'
import { admin } from '../../support/service.ts'
import { startAttacked } from './attacked-server.ts'

const OPEN_FILES_MAX = 60
const RECORDS = 100
const REQUESTS = 1_000
const ROUNDS = 50

/** A journal a little shorter than the size that starts a snapshot. */
function almostDue() {
  const changes = []
  for (let bytes = 0, i = 0; bytes < SNAPSHOT_JOURNAL_BYTES_MIN - 4_096; i += 1) {
    const fields = fieldsOf((i % RECORDS) + 1)
    const modify = new Configuration((i % RECORDS) + 1, { ...fields, username: 'u'.repeat((i % 200) + 1) })
    const change = { modify, name: fields.name }
    bytes += JSON.stringify(change).length + 1
    changes.push(change)
  }
  return changes
}

function startWithFewDescriptors(t: TestContext) {
  const through = ['prlimit', `--nofile=${OPEN_FILES_MAX}:${OPEN_FILES_MAX}`]
  return startAttacked(t, { records: RECORDS, changes: almostDue(), through })
}

async function open(t: TestContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  t.after(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Makes a request on a connection of its own; fetch would repeat one that was reset. */
async function statusOf(url: string, headers: { readonly Cookie: string }): Promise<number | undefined> {
  const outgoing = request(`${url}/v1/whoami`, { agent: false, headers })
  const answered = once(outgoing, 'response')
  outgoing.end()
  const [response] = (await answered) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

describe('with a limit of 60 open files', { skip: missing('prlimit') }, () => {
  it('changes are kept and a snapshot is written while connections flood in', async (t) => {
    const server = await startWithFewDescriptors(t)
    const limit = Number(/"event":"connections_limited","connections":(\d+)/.exec(server.stderr())?.[1])
    assert.ok(limit > 5 && limit < OPEN_FILES_MAX, server.stderr())
    const client = server.client('kept')
    await client.work(3, { onlyKept: true })
    const flood = await server.attack('connections', 200)

    const { failures, p99 } = await client.work(REQUESTS, { onlyKept: true })
    const tally = await flood.stop()
    t.diagnostic(`p99 ${p99.toFixed(1)} ms; the attack: ${JSON.stringify(tally)}`)
    assert.deepEqual(failures, [])
    assert.equal(client.keptConnections, 1)
    assert.ok((tally.closed ?? 0) > limit, 'nobody had to give way')
    await eventually('a snapshot is written', () => server.stderr().includes('"event":"snapshot_written"'))
    assert.doesNotMatch(server.stderr(), /EMFILE|"level":"error"/)
    assert.match(server.stderr(), /"event":"connection_cut_off"/)
    assert.ok(readdirSync(server.folder).includes('snapshot.json'))
  })

  it('new connections of one account are answered at once while another account holds the whole limit', async (t) => {
    const server = await startWithFewDescriptors(t)
    const headers = await logIn(server.url, admin)
    for (let i = 0; i < OPEN_FILES_MAX; i += 1) {
      const socket = await open(t, server.url)
      socket.write(`GET /v1/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.bearer}\r\n\r\n`)
      await once(socket, 'data')
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      // As many as may wait for their first request.
      const statuses = Array.from({ length: 5 }, () => statusOf(server.url, headers))
      assert.deepEqual(await Promise.all(statuses), [200, 200, 200, 200, 200])
    }
    assert.match(server.stderr(), /"event":"connection_cut_off"/)
  })

  it('a new connection is answered while others use the whole limit', async (t) => {
    const server = await startWithFewDescriptors(t)
    for (let i = 0; i < OPEN_FILES_MAX; i += 1) await open(t, server.url)
    const { failures } = await server.client('new').work(200)
    assert.deepEqual(failures, [])
  })
})
