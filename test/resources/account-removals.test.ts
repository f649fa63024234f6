import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { addedBy } from '../audit/trail.ts'
import { isGood } from '../commands/live-credentials.ts'
import { getToken, logIn } from '../support/api.ts'
import { readEvents } from '../support/event-reader.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { formatRequest } from '../support/raw-http.ts'
import { readingClient, readingUser } from '../support/readers.ts'
import { client } from '../support/service.ts'
import { administered, managing, problemIn } from './administrators.ts'

const eve = { username: 'eve', password: 'a good password' }
const newUser = { name: eve.username, password: eve.password }

/** The accounts in an answer. */
function accountsIn(answer: { json<T>(): T }) {
  return answer.json<{ accounts: { name: string; scope: string; secret?: string }[] }>().accounts
}

describe('DELETE /v1/users/NAME and /v1/clients/NAME', () => {
  it('removes an account, and ends its sessions, tokens, event streams and waiting reads', async (t) => {
    const { ask, url } = await administered(t)
    const token = await getToken(url, readingClient)
    const stream = await readEvents(t, url, token)
    await stream.until('\n\n')
    const answer = await ask('DELETE', '/v1/clients/viewer')
    assert.deepEqual([answer.status, answer.text], [204, ''])
    await stream.ended
    assert.equal(await isGood(url, token), false)
    assert.deepEqual(problemIn(await ask('DELETE', '/v1/clients/viewer')), [404, 'unknown_account'])
    await ask('POST', '/v1/clients/', { body: { name: 'viewer' } })
    assert.equal(await isGood(url, token), false)
  })

  it('does not take the last admin user, not even by itself, nor its right', async (t) => {
    const { ask, askAsClient } = await administered(t)
    const path = '/v1/users/admin'
    for (const asking of [ask, askAsClient]) {
      assert.deepEqual(problemIn(await asking('DELETE', path)), [409, 'last_admin'])
      const demotion = await asking('PATCH', path, { body: { scope: 'write', password: 'a good password' } })
      assert.deepEqual(problemIn(demotion), [409, 'last_admin'])
    }
    assert.equal((await ask('PATCH', '/v1/users/reader', { body: { scope: 'admin' } })).status, 200)
    assert.equal((await ask('DELETE', path)).status, 204)
    assert.equal((await ask('GET', '/v1/users/')).status, 403)
    assert.deepEqual(problemIn(await askAsClient('DELETE', '/v1/users/reader')), [409, 'last_admin'])
    // Clients do not count.
    assert.equal((await askAsClient('DELETE', '/v1/clients/manager')).status, 204)
  })

  it('leaves one of two admins who remove each other at once', async (t) => {
    const { ask, askAsClient, url } = await administered(t)
    await ask('POST', '/v1/users/', { body: { ...newUser, scope: 'admin' } })
    const other = createClient(url, await logIn(url, eve))
    const [one, two] = await Promise.all([ask('DELETE', '/v1/users/eve'), other('DELETE', '/v1/users/admin')])
    assert.deepEqual([one.status, two.status].toSorted(), [204, 403])
    const left = accountsIn(await askAsClient('GET', '/v1/users/')).filter(({ scope }) => scope === 'admin')
    assert.equal(left.length, 1)
  })
})

describe('a change of accounts over HTTP', () => {
  it('is in the audit trail with who made it, and without secrets', async (t) => {
    const { ask, folder, url } = await administered(t)
    const secrets = ['a good password', 'another password', 'sixteen characters']
    const lines = await addedBy(folder, async () => {
      await ask('POST', '/v1/users/', { body: newUser })
      await ask('PATCH', '/v1/users/eve', { body: { password: secrets[1], scope: 'read' } })
      await ask('DELETE', '/v1/users/eve')
      await ask('POST', '/v1/clients/', { body: { name: 'ci', secret: secrets[2], scope: 'admin' } })
      await ask('PATCH', '/v1/clients/ci', { body: { rotate: true } })
      await createClient(url, {}, { socketPath: ownerSocketPath(folder) })('DELETE', '/v1/clients/ci')
    })
    const shown = lines.map(({ event, account, scope, kind, by }) => [event, account, scope, kind, by])
    const mine = ['user', 'admin']
    assert.deepEqual(shown.slice(0, -1), [
      ['user_added', 'eve', 'read write', ...mine],
      ['user_password_changed', 'eve', undefined, ...mine],
      ['user_changed', 'eve', 'read', ...mine],
      ['user_removed', 'eve', undefined, ...mine],
      ['client_added', 'ci', 'read write admin', ...mine],
      ['client_rotated', 'ci', undefined, ...mine],
    ])
    const { event, account, command } = lines.at(-1) ?? {}
    assert.deepEqual([event, account, command], ['client_removed', 'ci', 'http'])
    for (const secret of secrets) assert.equal(JSON.stringify(lines).includes(secret), false)
  })

  it('is for admins only, and from no other site', async (t) => {
    const { url, ask } = await administered(t)
    const calls = [
      ['POST', '/v1/users/', newUser],
      ['PATCH', '/v1/users/admin', { scope: 'read' }],
      ['DELETE', '/v1/clients/nobody', undefined],
    ] as const
    const others = [await logIn(url, readingUser), await getToken(url, client), await getToken(url, managing)]
    for (const [method, path, body] of calls) {
      for (const headers of others) {
        const answer = await createClient(url, headers)(method, path, { body })
        assert.deepEqual(problemIn(answer), [403, 'insufficient_scope'])
      }
      const foreign = await ask(method, path, { body, headers: { 'Sec-Fetch-Site': 'cross-site' } })
      assert.deepEqual(problemIn(foreign), [403, 'cross_site'])
    }
  })

  it('is refused when the caller has lost the right after the head of the request', async (t) => {
    const { ask, url } = await administered(t)
    await ask('POST', '/v1/users/', { body: { ...newUser, scope: 'admin' } })
    const session = await logIn(url, eve)
    const late = await sendLate(t, url, session, 'POST /v1/clients/', JSON.stringify({ name: 'ci' }))
    await ask('PATCH', '/v1/users/eve', { body: { scope: 'write' } })
    assert.match(await late(), /^HTTP\/1\.1 403 .*insufficient_scope/s)
    assert.equal((await ask('GET', '/v1/clients/ci')).status, 404)
  })

  it('ends an import of the account that is under way, and nothing of it is kept', async (t) => {
    const { ask, url } = await administered(t)
    const record = { name: 'imported', hostname: 'h', port: 1, username: 'u' }
    const late = await sendLate(
      t,
      url,
      await getToken(url, client),
      'POST /v1/import',
      JSON.stringify([record]),
    )
    assert.equal((await ask('DELETE', '/v1/clients/script')).status, 204)
    assert.match(await late(), /^HTTP\/1\.1 403 .*invalid_token/ms)
    assert.equal((await ask('GET', '/configurations/imported')).status, 404)
  })
})

/** Sends the head of a request, and once the server waits for its body, returns what sends that, and gets the answer. */
async function sendLate(t: TestContext, url: string, credential: Headers, line: string, body: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  const received = socket.setEncoding('latin1').toArray()
  const headers = { ...credential, 'Content-Type': 'application/json', Expect: '100-continue' }
  const head = formatRequest(line, headers, body).slice(0, -body.length)
  const continued = once(socket, 'readable')
  socket.write(head)
  await continued
  return async () => {
    socket.end(body)
    return (await received).join('').replace('HTTP/1.1 100 Continue\r\n\r\n', '')
  }
}
