import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { hasTerminals, keysOf, startAtTerminal } from '../../support/pseudo-terminal.ts'
import { admin } from '../../support/service.ts'
import { type CalledServer, openHome, openServer, web1 } from './client-home.ts'
import { problemOf, serveJson } from './other-server.ts'

const { enter, ctrlC, ctrlD } = keysOf

/** Waits until the server sends its changes to somebody. */
function isFollowed({ ask }: CalledServer) {
  return eventually('a stream is open', async () =>
    /^connbook_event_streams 1$/m.test((await ask('GET', '/metrics')).text),
  )
}

describe('the commands of a client at a terminal', { skip: !hasTerminals }, () => {
  it('ask for user and password of a login, and do not show the password', async (t) => {
    const { service } = await openServer(t)
    const { environment, run } = await openHome(t)
    const session = startAtTerminal(t, ['login', service.url], environment)
    await session.sees('User: ')
    session.type(`${admin.username}${enter}`)
    await session.sees(`Password of admin at ${service.url}: `)
    session.type(`${admin.password}${enter}`)
    await session.sees(`Logged in as admin at ${service.url}`)
    assert.equal(await session.exitCode, 0)
    assert.doesNotMatch(session.screen(), new RegExp(admin.password))
    assert.match((await run(['whoami'])).stdout, /\naccount\tadmin\n/)
  })

  it('log nobody in when Ctrl-C or Ctrl-D ends the question', async (t) => {
    const { service } = await openServer(t)
    const { environment, sessions } = await openHome(t)
    const nobody = startAtTerminal(t, ['login', service.url], environment)
    await nobody.sees('User: ')
    nobody.type(ctrlD)
    await nobody.sees('No user was typed; nothing has changed')
    assert.equal(await nobody.exitCode, 2)
    const session = startAtTerminal(t, ['login', service.url, '--user', 'admin'], environment)
    await session.sees('Password of admin')
    session.type(ctrlC)
    await session.sees('Interrupted at the question; nothing has changed')
    assert.equal(await session.exitCode, 130)
    await assert.rejects(stat(sessions), { code: 'ENOENT' })
  })

  it('let nothing that the server says control it', async (t) => {
    const told = '\u001b]0;told\u0007'
    const shown = '\\u001b]0;told\\u0007'
    const refusing = await serveJson(t, 400, problemOf(400, 'invalid', `No: ${told}`))
    const answering = await serveJson(t, 200, { history: [], since: told })
    const { environment } = await openHome(t)
    for (const [server, said] of [
      [refusing, `connbook: No: ${shown}`],
      [answering, `Complete since ${shown}`],
    ] as const) {
      const session = startAtTerminal(t, ['history', '--server', server], environment)
      await session.sees(said)
      await session.exitCode
      assert.ok(!session.screen().includes(told))
    }
  })

  it('watch until Ctrl-C', async (t) => {
    const server = await openServer(t)
    const session = startAtTerminal(t, ['watch', '--prefix', 'web'], server.environment)
    await isFollowed(server)
    await server.ask('POST', '/configurations/', { body: { ...web1, name: 'db1' } })
    await server.ask('POST', '/configurations/', { body: { ...web1, username: 'a\u202eb' } })
    await session.sees('added  web1  192.0.2.10  22  a\\u202eb')
    session.type(ctrlC)
    assert.equal(await session.exitCode, 130)
    assert.doesNotMatch(session.screen(), /db1|\u202e/)
  })
})
