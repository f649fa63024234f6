import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { addedBy } from '../audit/trail.ts'
import { isGood } from '../commands/live-credentials.ts'
import { getToken, logIn } from '../support/api.ts'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, faultyFields } from '../support/http-client.ts'
import { readingClient, readingUser } from '../support/readers.ts'
import { administered, problemIn } from './administrators.ts'

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
    ['/v1/users/', { ...newUser, expires: 1 }, ['expires']],
    ['/v1/users/', { ...newUser, name: '..' }, ['name']],
    ['/v1/users/', { ...newUser, name: 'a\nb' }, ['name']],
    ['/v1/users/', { ...newUser, name: 7 }, ['name']],
    ['/v1/clients/', { name: 'a:b' }, ['name']],
    ['/v1/clients/', { name: 'ci', password: 'a good password' }, ['password']],
    ['/v1/clients/', { name: 'ci', secret: 'too short' }, ['secret']],
    ['/v1/clients/', { name: 'ci', secret: null }, ['secret']],
    ['/v1/clients/', { name: 'ci', rotate: true }, ['rotate']],
    ['/v1/clients/', { name: '', scope: 1, x: 1 }, ['name', 'scope', 'x']],
    ['/v1/users/', { name: { toString: 1 }, password: 'long enough' }, ['name']],
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

  it('ends event streams and waiting reads of an account whose scope changes', async (t) => {
    const { ask, url } = await administered(t)
    const [theirs, token] = [await logIn(url, readingUser), await getToken(url, readingClient)]
    const [own, other] = [await readEvents(t, url, theirs), await readEvents(t, url, token)]
    await Promise.all([own, other].map((reader) => reader.until('\n\n')))
    const asking = createClient(url, theirs)
    const etag = String((await asking('HEAD', '/configurations/')).headers.etag)
    const waiting = { Prefer: 'wait=50', 'If-None-Match': etag }
    const read = asking('GET', '/configurations/', { headers: waiting })
    await eventually('the read waits', async () =>
      (await ask('GET', '/metrics')).text.includes('connbook_waiting_polls 1\n'),
    )
    await ask('PATCH', '/v1/users/reader', { body: { scope: 'write' } })
    assert.equal((await read).status, 304)
    await own.ended
    const body = { name: 'a', hostname: 'h', port: 1, username: 'u' }
    await asking('POST', '/configurations/', { body })
    assert.equal((await other.take(1))[0]?.event, 'added')
    assert.deepEqual(own.events(), [])
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
    ['/v1/clients/viewer', { expires: 1 }, ['expires']],
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
