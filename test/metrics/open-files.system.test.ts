import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { usedFolder } from '../support/service.ts'
import { Samples } from './scrape.ts'

const OPEN_FILES_MAX = 60

describe('with a limit on open files, the metrics', { skip: missing('prlimit') }, () => {
  it('show how many files are open, and how many connections were closed to make room', async (t) => {
    const through = ['prlimit', `--nofile=${OPEN_FILES_MAX}:${OPEN_FILES_MAX}`]
    const args = ['--metrics-public', '--data', await usedFolder(t)]
    const server = await startExecutable(t, args, { through })
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const ask = createClient(server.url, {}, { agent })
    const read = async () => new Samples((await ask('GET', '/metrics')).text)
    const limit = Number(/"event":"connections_limited","connections":(\d+)/.exec(server.stderr())?.[1])
    assert.ok(limit > 5 && limit < OPEN_FILES_MAX, server.stderr())

    // The file of accounts or keys may be open for a moment.
    await eventually('both say the same', async () => {
      const told = (await read()).get('process_open_fds')
      return told === (await readdir(`/proc/${server.process.pid}/fd`)).length
    })

    const { hostname, port } = new URL(server.url)
    for (let i = 0; i < limit + 10; i += 1) {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => {})
      t.after(() => void socket.destroy())
      await once(socket, 'connect')
    }
    // The tenth may still be arriving, and the connection that asks may itself have been closed.
    await eventually('ten have made room', async () => {
      const samples = await read().catch(() => undefined)
      const cutOff = samples?.get('connbook_http_connections_cut_off_total') ?? 0
      return cutOff >= 10 && cutOff <= 12 && samples?.get('connbook_http_connections') === limit
    })
  })
})
