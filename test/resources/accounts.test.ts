import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { readingClient, readingUser } from '../support/readers.ts'
import { admin, client } from '../support/service.ts'
import { administered, managing, problemIn } from './administrators.ts'

const allUsers = [
  { name: 'admin', kind: 'user', scope: 'admin' },
  { name: 'reader', kind: 'user', scope: 'read' },
]
const allClients = [
  { name: 'manager', kind: 'client', scope: 'admin' },
  { name: 'script', kind: 'client', scope: 'write' },
  { name: 'viewer', kind: 'client', scope: 'read' },
]

describe('reading accounts', () => {
  it('lists the users and the clients by name, and never a secret', async (t) => {
    const { ask, askAsClient } = await administered(t)
    for (const asking of [ask, askAsClient])
      for (const [path, accounts] of [
        ['/v1/users/', allUsers],
        ['/v1/users', allUsers],
        ['/v1/clients/', allClients],
        ['/v1/clients', allClients],
      ] as const) {
        const answer = await asking('GET', path)
        assert.deepEqual([answer.status, answer.text], [200, JSON.stringify({ accounts })])
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
  })

  it('gets one, or 404', async (t) => {
    const { ask } = await administered(t)
    const one = await ask('GET', '/v1/clients/script')
    assert.deepEqual(one.json(), { accounts: [allClients[1]] })
    assert.deepEqual(problemIn(await ask('GET', '/v1/users/script')), [404, 'unknown_account'])
    assert.deepEqual(problemIn(await ask('GET', '/v1/clients/__proto__')), [404, 'unknown_account'])
  })

  it('has tags, for conditions', async (t) => {
    const { ask } = await administered(t)
    const tags = new Set<string>()
    for (const path of ['/v1/users/', '/v1/clients/', '/v1/users/admin', '/v1/users/reader']) {
      const { etag = assert.fail('no tag') } = (await ask('GET', path)).headers
      tags.add(etag)
      assert.equal((await ask('GET', path, { headers: { 'If-None-Match': etag } })).status, 304)
      assert.equal((await ask('HEAD', path, { headers: { 'If-None-Match': '"x"' } })).status, 200)
      const stale = await ask('GET', path, { headers: { 'If-Match': '"x"' } })
      assert.deepEqual(problemIn(stale), [412, 'stale_record'])
    }
    assert.equal(tags.size, 4)
  })

  it('is for admins only: 403 for others, and for a token that was not issued for it', async (t) => {
    const { url } = await administered(t)
    const others = {
      'a user': await logIn(url, readingUser),
      'a client that may write': await getToken(url, client),
      'a client that may read': await getToken(url, readingClient),
      'a token without admin': await getToken(url, managing),
      'a token for writing': await getToken(url, { ...managing, scope: 'write' }),
    }
    for (const [who, headers] of Object.entries(others))
      for (const path of ['/v1/users/', '/v1/clients/nobody', '/v1/users/admin']) {
        const answer = await createClient(url, headers)('GET', path)
        assert.deepEqual(problemIn(answer), [403, 'insufficient_scope'], who)
        assert.match(answer.headers['www-authenticate'] ?? '', /error="insufficient_scope", scope="admin"$/)
      }
    assert.equal((await createClient(url)('GET', '/v1/users/')).status, 403)
  })

  it('is allowed to the owner of the folder', async (t) => {
    const { url, folder } = await administered(t)
    const owner = createClient(url, {}, { socketPath: ownerSocketPath(folder) })
    assert.deepEqual((await owner('GET', '/v1/users/')).json(), { accounts: allUsers })
  })

  it('takes a session and a token of an admin for records, too', async (t) => {
    const { url, ask, askAsClient } = await administered(t)
    for (const asking of [ask, askAsClient])
      assert.equal((await asking('PATCH', '/configurations/none', { body: {} })).status, 404)
    const { scope } = (await createClient(url, await logIn(url, admin))('GET', '/v1/whoami')).json<{
      scope: string
    }>()
    assert.equal(scope, 'read write admin')
  })
})
