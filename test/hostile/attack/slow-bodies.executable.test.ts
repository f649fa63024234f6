import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { BODY_BYTES_MAX, MEMORY_MIB_MIN } from '../../../src/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { formatRequest } from '../../support/raw-http.ts'
import { type AttackedServer, startAttacked } from './attacked-server.ts'

/** As much as the whole server may use. */
const CONNECTIONS = (MEMORY_MIB_MIN * 1024 * 1024) / BODY_BYTES_MAX

/** Begins a request whose body is as long as it may be, and lacks its last byte. */
async function beginBody(t: TestContext, { url, bearer }: AttackedServer) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => void socket.destroy())
  // It may be cut off.
  socket.on('error', () => {})
  await once(socket, 'connect')
  const head = formatRequest('POST /configurations/', {
    Authorization: bearer,
    'Content-Length': String(BODY_BYTES_MAX),
  })
  socket.write(head + ' '.repeat(BODY_BYTES_MAX - 1))
}

describe(`in ${MEMORY_MIB_MIN} MiB of memory, ${CONNECTIONS} bodies that lack their end`, {
  skip: noMemoryGroups,
}, () => {
  it('do not end the server: some are cut off, which the log says, and others are served', async (t) => {
    const group = makeMemoryGroup(t, MEMORY_MIB_MIN)
    const server = await startAttacked(t, { records: 1, through: group.through })
    for (let i = 0; i < CONNECTIONS; i++) await beginBody(t, server)
    await eventually('some are cut off', () => {
      assert.equal(server.process.exitCode ?? server.process.signalCode, null)
      return server.stderr().includes('bodies that have not arrived as a whole hold')
    })
    const { failures } = await server.client('good').work(50)
    assert.deepEqual(failures, [])
    assert.ok(group.usedMebibytes() < MEMORY_MIB_MIN)
  })
})
