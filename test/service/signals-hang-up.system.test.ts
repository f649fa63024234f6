import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, firstStartEnvironment, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventsAfterEarlyHangUp, hangUp } from './hang-up.ts'

describe('SIGHUP without a certificate', () => {
  it('ends nothing and is logged', async (t) => {
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const { level, reason } = await hangUp(server, 'reload_ignored')
    assert.deepEqual([level, reason], ['info', 'no --tls-cert'])
    assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
    assert.equal(await server.stop(), 0)
  })

  it('during the start does not end it', async (t) => {
    assert.deepEqual(await eventsAfterEarlyHangUp(t), ['listening', 'first_start', 'reload_ignored'])
  })

  it('during the stop does not cut it off', async (t) => {
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const body = JSON.stringify(admin)
    const { hostname, port } = new URL(server.url)
    const socket = connect({ host: hostname, port: Number(port) })
    t.after(() => void socket.destroy())
    const head = ['POST /login HTTP/1.1', 'Host: a', 'Expect: 100-continue', `Content-Length: ${body.length}`]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    await once(socket, 'data')
    const stopped = server.stop()
    await eventually('it is stopping', () => server.stderr().includes('"event":"stopping"'))
    await hangUp(server, 'reload_ignored')
    socket.write(body)
    const [answer] = parseAnswers(Buffer.concat(await socket.toArray()).toString())
    assert.equal(answer?.status, 200)
    assert.equal(await stopped, 0)
  })

  it('from an open terminal ends nothing; closing the terminal stops the server', {
    skip: !hasTerminals,
  }, async (t) => {
    const data = await temporaryFolder(t)
    const flags = ['--host', '127.0.0.1', '--port', '0', '--data', data]
    const terminal = startAtTerminal(t, flags, firstStartEnvironment)
    await terminal.sees('listening')
    await terminal.sees('first_start')
    const [, url = '', pid] = /url=(\S+) .* pid=(\d+)/.exec(terminal.screen()) ?? []
    process.kill(Number(pid), 'SIGHUP')
    await terminal.sees('reload_ignored')
    const answers = () =>
      createClient(url)('GET', '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      )
    assert.equal(await answers(), true)
    await terminal.close()
    await eventually('it has ended', async () => !(await answers()))
  })
})
