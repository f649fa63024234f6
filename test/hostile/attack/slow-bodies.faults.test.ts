import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { BODY_BYTES_MAX, HEADER_BYTES_MAX, MEMORY_MIB_MIN } from '../../../src/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { formatRequest } from '../../support/raw-http.ts'
import { type AttackedServer, startAttacked } from './attacked-server.ts'

/** As much as the whole server may use. */
const CONNECTIONS = (MEMORY_MIB_MIN * 1024 * 1024) / BODY_BYTES_MAX

const HEADERS_CONNECTIONS = (MEMORY_MIB_MIN * 1024 * 1024) / HEADER_BYTES_MAX

/** Begins a request on a connection of its own. */
async function begin(t: TestContext, { url }: AttackedServer, text: string) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => void socket.destroy())
  // It may be cut off.
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
}

describe(`in ${MEMORY_MIB_MIN} MiB of memory`, { skip: noMemoryGroups }, () => {
  for (const { what, count, textFor, reason } of [
    {
      what: 'bodies that lack their end',
      count: CONNECTIONS,
      textFor: ({ bearer }: AttackedServer) =>
        formatRequest('POST /configurations/', {
          Authorization: bearer,
          'Content-Length': String(BODY_BYTES_MAX),
        }) + ' '.repeat(BODY_BYTES_MAX - 1),
      reason: /bodies that have not arrived as a whole hold/,
    },
    {
      what: 'headers that lack their end, without a credential',
      count: HEADERS_CONNECTIONS,
      textFor: () => formatRequest('GET /', { 'X-Long': '' }).trimEnd() + 'a'.repeat(HEADER_BYTES_MAX - 500),
      reason: /there are \d+ connections/,
    },
  ])
    it(`${count} ${what} do not end the server: some are cut off, which the log says, and others are served`, async (t) => {
      const group = makeMemoryGroup(t, MEMORY_MIB_MIN)
      const server = await startAttacked(t, { records: 1, through: group.through })
      const text = textFor(server)
      for (let i = 0; i < count; i++) await begin(t, server, text)
      await eventually('some are cut off', () => {
        assert.equal(server.process.exitCode ?? server.process.signalCode, null)
        return reason.test(server.stderr())
      })
      const { failures } = await server.client('good').work(50)
      assert.deepEqual(failures, [])
      assert.ok(group.usedMebibytes() < MEMORY_MIB_MIN)
    })
})
