import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { addedBy } from '../audit/trail.ts'
import { isGood } from '../commands/live-credentials.ts'
import { getToken, logIn } from '../support/api.ts'
import { readEvents } from '../support/event-reader.ts'
import { createClient, faultyFields, type Headers } from '../support/http-client.ts'
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

describe('POST /v1/users/ and /v1/clients/', () => {
  it('adds a user who can log in at once', async (t) => {
    const { ask, url } = await administered(t)
    const answer = await ask('POST', '/v1/users/', { body: { ...newUser, scope: 'read' } })
    const expected = { accounts: [{ name: 'eve', kind: 'user', scope: 'read' }] }
    assert.deepEqual([answer.status, answer.text], [201, JSON.stringify(expected)])
    assert.equal(answer.headers.location, '/v1/users/eve')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers.etag, (await ask('GET', '/v1/users/eve')).headers.etag)
    const session = createClient(url, await logIn(url, eve))
    assert.equal((await session('GET', '/v1/whoami')).json<{ scope: string }>().scope, 'read')
  })

  it('adds a client with a made secret, which no other answer has', async (t) => {
    const { askAsClient, url } = await administered(t)
    const answer = await askAsClient('POST', '/v1/clients', { body: { name: 'ci/1' } })
    assert.deepEqual([answer.status, answer.headers.location], [201, '/v1/clients/ci%2F1'])
    const [{ secret = '', ...shown } = assert.fail()] = accountsIn(answer)
    assert.deepEqual(shown, { name: 'ci/1', kind: 'client', scope: 'write' })
    assert.match(secret, /^[A-Za-z0-9]{43}$/)
    const token = await getToken(url, { client_id: 'ci/1', client_secret: secret })
    assert.equal(await isGood(url, token), true)
    for (const path of ['/v1/clients/', '/v1/clients/ci%2F1'])
      assert.doesNotMatch((await askAsClient('GET', path)).text, /secret/)
  })

  it('takes the secret of a client that is chosen, and does not repeat it', async (t) => {
    const { ask, url } = await administered(t)
    const chosen = 'sixteen characters'
    const answer = await ask('POST', '/v1/clients/', { body: { name: 'ci', secret: chosen, kind: 'client' } })
    assert.deepEqual(accountsIn(answer), [{ name: 'ci', kind: 'client', scope: 'write' }])
    const token = await getToken(url, { client_id: 'ci', client_secret: chosen })
    assert.equal(await isGood(url, token), true)
  })

  it('answers 409 for a name that is taken, also for one of two at once', async (t) => {
    const { ask } = await administered(t)
    const add = () => ask('POST', '/v1/users/', { body: newUser })
    const statuses = (await Promise.all([add(), add()])).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [201, 409])
    assert.deepEqual(problemIn(await add()), [409, 'name_taken'])
    assert.equal((await ask('POST', '/v1/clients/', { body: { name: 'eve' } })).status, 201)
  })

  const refused: [path: string, body: unknown, fields: string[]][] = [
    ['/v1/users/', {}, ['name', 'password']],
    ['/v1/users/', { name: 'eve' }, ['password']],
    ['/v1/users/', { name: 'eve', password: 'short' }, ['password']],
    ['/v1/users/', { name: 'long enough', password: 'long enough' }, ['password']],
    ['/v1/users/', { ...newUser, password: 12345678 }, ['password']],
    ['/v1/users/', { ...newUser, secret: 'sixteen characters' }, ['secret']],
    ['/v1/users/', { ...newUser, scope: 'root' }, ['scope']],
    ['/v1/users/', { ...newUser, scope: 'read write' }, ['scope']],
    ['/v1/users/', { ...newUser, scope: null }, ['scope']],
    ['/v1/users/', { ...newUser, kind: 'client' }, ['kind']],
    ['/v1/users/', { ...newUser, grants: ['read'] }, ['grants']],
    ['/v1/users/', { ...newUser, name: '..' }, ['name']],
    ['/v1/users/', { ...newUser, name: 'a\nb' }, ['name']],
    ['/v1/users/', { ...newUser, name: 7 }, ['name']],
    ['/v1/clients/', { name: 'a:b' }, ['name']],
    ['/v1/clients/', { name: 'ci', password: 'a good password' }, ['password']],
    ['/v1/clients/', { name: 'ci', secret: 'too short' }, ['secret']],
    ['/v1/clients/', { name: 'ci', secret: null }, ['secret']],
    ['/v1/clients/', { name: 'ci', rotate: true }, ['rotate']],
    ['/v1/clients/', { name: '', scope: 1, x: 1 }, ['name', 'scope', 'x']],
  ]
  it('refuses with 400 what is not valid, names all faults, and changes nothing', async (t) => {
    const { ask } = await administered(t)
    const before = [await ask('GET', '/v1/users/'), await ask('GET', '/v1/clients/')]
    for (const [path, body, fields] of refused) {
      const answer = await ask('POST', path, { body })
      assert.deepEqual([answer.status, faultyFields(answer)], [400, fields], JSON.stringify(body))
    }
    const after = [await ask('GET', '/v1/users/'), await ask('GET', '/v1/clients/')]
    assert.deepEqual(
      after.map(({ text }) => text),
      before.map(({ text }) => text),
    )
  })
})

describe('PATCH /v1/users/NAME and /v1/clients/NAME', () => {
  it('changes the scope: sessions and tokens go on with it', async (t) => {
    const { ask, url } = await administered(t)
    const theirs = await logIn(url, readingUser)
    const mayWrite = async () =>
      (await createClient(url, theirs)('PATCH', '/configurations/none', { body: {} })).status === 404
    assert.equal(await mayWrite(), false)
    const answer = await ask('PATCH', '/v1/users/reader', {
      body: { scope: 'write', name: 'reader', kind: 'user' },
    })
    assert.deepEqual(accountsIn(answer), [{ name: 'reader', kind: 'user', scope: 'write' }])
    assert.equal(await mayWrite(), true)
    await ask('PATCH', '/v1/users/reader', { body: { scope: 'admin' } })
    assert.equal((await createClient(url, theirs)('GET', '/v1/users/')).status, 200)
    await ask('PATCH', '/v1/users/reader', { body: { scope: 'read' } })
    assert.equal(await mayWrite(), false)
  })

  it('changes a password: the sessions end, and failed attempts are forgotten', async (t) => {
    const { ask, url } = await administered(t)
    const theirs = await logIn(url, readingUser)
    const plain = createClient(url)
    const tryOut = async (password: string) =>
      (await plain('POST', '/login', { body: { username: 'reader', password } })).status
    for (let i = 0; i < FREE_FAILURES; i++) await tryOut('wrong')
    assert.equal(await tryOut(readingUser.password), 429)
    const password = 'another password'
    const answer = await ask('PATCH', '/v1/users/reader', { body: { password } })
    assert.deepEqual([answer.status, accountsIn(answer)[0]?.scope], [200, 'read'])
    assert.doesNotMatch(answer.text, /another/)
    assert.deepEqual([await isGood(url, theirs), await tryOut(password)], [false, 200])
  })

  it('makes a new secret for a client, or takes a chosen one: its tokens end', async (t) => {
    const { ask, url } = await administered(t)
    const before = await getToken(url, readingClient)
    const [{ secret = '' } = assert.fail()] = accountsIn(
      await ask('PATCH', '/v1/clients/viewer', { body: { rotate: true } }),
    )
    assert.match(secret, /^[A-Za-z0-9]{43}$/)
    const next = await getToken(url, { client_id: 'viewer', client_secret: secret })
    assert.deepEqual([await isGood(url, before), await isGood(url, next)], [false, true])
    const chosen = 'a chosen secret of a client'
    const answer = await ask('PATCH', '/v1/clients/viewer', { body: { secret: chosen, scope: 'write' } })
    assert.deepEqual(accountsIn(answer), [{ name: 'viewer', kind: 'client', scope: 'write' }])
    const last = await getToken(url, { client_id: 'viewer', client_secret: chosen })
    assert.deepEqual([await isGood(url, next), await isGood(url, last)], [false, true])
  })

  it('lets a client rotate itself with its token, which then has ended', async (t) => {
    const { askAsClient, url } = await administered(t)
    const answer = await askAsClient('PATCH', '/v1/clients/manager', { body: { rotate: true } })
    const [{ secret = '' } = assert.fail()] = accountsIn(answer)
    assert.deepEqual(problemIn(await askAsClient('GET', '/v1/clients/')), [403, 'invalid_token'])
    const renewed = { client_id: 'manager', client_secret: secret, scope: 'admin' }
    assert.equal((await createClient(url, await getToken(url, renewed))('GET', '/v1/clients/')).status, 200)
  })

  it('changes nothing for what is so already: same tag, no line in the trail, nothing ends', async (t) => {
    const { ask, url, folder } = await administered(t)
    const theirs = await logIn(url, readingUser)
    const { etag } = (await ask('GET', '/v1/users/reader')).headers
    const lines = await addedBy(folder, async () => {
      for (const body of [{}, { scope: 'read' }, { name: 'reader' }]) {
        const answer = await ask('PATCH', '/v1/users/reader', { body })
        assert.deepEqual([answer.status, answer.headers.etag], [200, etag])
      }
    })
    assert.deepEqual([lines, await isGood(url, theirs)], [[], true])
  })

  const refused: [path: string, body: unknown, fields: string[]][] = [
    ['/v1/users/reader', { name: 'other' }, ['name']],
    ['/v1/users/reader', { kind: 'client' }, ['kind']],
    ['/v1/users/reader', { scope: 'everything' }, ['scope']],
    ['/v1/users/reader', { secret: 'sixteen characters' }, ['secret']],
    ['/v1/users/reader', { rotate: true }, ['rotate']],
    ['/v1/users/reader', { password: 'reader' }, ['password']],
    ['/v1/users/reader', { password: null }, ['password']],
    ['/v1/clients/viewer', { rotate: false }, ['rotate']],
    ['/v1/clients/viewer', { rotate: true, secret: 'sixteen characters' }, ['rotate']],
    ['/v1/clients/viewer', { password: 'a good password' }, ['password']],
    ['/v1/clients/viewer', { grants: null }, ['grants']],
    ['/v1/clients/nobody', { scope: 'x' }, ['scope']],
  ]
  it('refuses with 400 what is not valid, before it looks for the account', async (t) => {
    const { ask } = await administered(t)
    for (const [path, body, fields] of refused) {
      const answer = await ask('PATCH', path, { body })
      assert.deepEqual([answer.status, faultyFields(answer)], [400, fields], JSON.stringify(body))
    }
    for (const body of [{ scope: 'read' }, { password: 'a good password' }])
      assert.deepEqual(problemIn(await ask('PATCH', '/v1/users/nobody', { body })), [404, 'unknown_account'])
    assert.equal((await ask('PUT', '/v1/users/reader', { body: {} })).status, 405)
  })

  it('changes only what is as If-Match says', async (t) => {
    const { ask } = await administered(t)
    const path = '/v1/users/reader'
    const { etag = assert.fail() } = (await ask('GET', path)).headers
    const change = (body: unknown, headers: Record<string, string>) => ask('PATCH', path, { body, headers })
    const first = await change({ scope: 'write' }, { 'If-Match': etag })
    assert.equal(first.status, 200)
    assert.notEqual(first.headers.etag, etag)
    const stale = await change({ password: 'another password' }, { 'If-Match': etag })
    assert.deepEqual(problemIn(stale), [412, 'stale_record'])
    const second = await change({ password: 'another password' }, { 'If-Match': String(first.headers.etag) })
    assert.equal(second.status, 200)
    assert.notEqual(second.headers.etag, first.headers.etag)
    assert.deepEqual(problemIn(await change({}, { 'If-Match': 'x' })), [400, 'malformed_condition'])
    const removal = await ask('DELETE', path, { headers: { 'If-Match': etag } })
    assert.deepEqual(problemIn(removal), [412, 'stale_record'])
  })
})

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
