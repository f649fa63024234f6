import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { trailIn } from '../audit/trail.ts'
import { getToken } from '../support/api.ts'
import { createClient, faultyFields } from '../support/http-client.ts'
import { administered, problemIn } from './administrators.ts'

describe('grants of accounts', () => {
  it('are kept in one form, shown, changed and taken away', async (t) => {
    const { folder, ask } = await administered(t)
    const grants = ['write?label=team=a&prefix=a/', 'read', 'read']
    const kept = ['read', 'write?prefix=a%2F&label=team=a']
    const added = await ask('POST', '/v1/users/', {
      body: { name: 'eve', grants, password: 'a long password' },
    })
    const shown = { name: 'eve', kind: 'user', scope: 'write', grants: kept }
    assert.deepEqual([added.status, added.text], [201, JSON.stringify({ accounts: [shown] })])
    const path = '/v1/users/eve'
    const got = await ask('GET', path)
    assert.deepEqual([got.text, got.headers.etag], [added.text, added.headers.etag])
    const same = await ask('PATCH', path, { body: { grants: kept.toReversed() } })
    assert.equal(same.headers.etag, added.headers.etag)
    const other = await ask('PATCH', path, { body: { grants: ['read'], scope: 'read' } })
    assert.equal(other.text, '{"accounts":[{"name":"eve","kind":"user","scope":"read","grants":["read"]}]}')
    assert.notEqual(other.headers.etag, added.headers.etag)
    const free = await ask('PATCH', path, { body: { grants: null } })
    assert.equal(free.text, '{"accounts":[{"name":"eve","kind":"user","scope":"read"}]}')
    const lines = (await trailIn(folder)).filter(({ account }) => account === 'eve')
    assert.deepEqual(
      lines.map(({ event, by, scope, grants }) => [event, by, scope, grants]),
      [
        ['user_added', 'admin', 'read write', kept],
        ['user_changed', 'admin', 'read', ['read']],
        ['user_changed', 'admin', 'read', null],
      ],
    )
  })

  it('are refused with what is wrong, and for an admin', async (t) => {
    const { ask } = await administered(t)
    for (const grants of [[], 'read', null, ['reed'], ['read?'], ['read?q=a'], [1], Array(17).fill('read')]) {
      const answer = await ask('POST', '/v1/clients/', { body: { name: 'ci', grants } })
      assert.deepEqual([answer.status, faultyFields(answer)], [400, ['grants']], JSON.stringify(grants))
    }
    const body = { name: 'ci', scope: 'admin', grants: ['read'] }
    assert.deepEqual(faultyFields(await ask('POST', '/v1/clients/', { body })), ['grants'])
    for (const [name, patch] of [
      ['manager', { grants: ['read'] }],
      ['viewer', { grants: ['read'], scope: 'admin' }],
      // Only null takes the last limit away.
      ['viewer', { grants: [] }],
    ] as const) {
      const before = (await ask('GET', '/v1/clients/')).text
      const answer = await ask('PATCH', `/v1/clients/${name}`, { body: patch })
      assert.deepEqual([problemIn(answer), faultyFields(answer)], [[400, 'invalid_input'], ['grants']])
      assert.equal((await ask('GET', '/v1/clients/')).text, before)
    }
  })

  it('are named by whoami, and hold for tokens that were issued before', async (t) => {
    const { ask, url } = await administered(t)
    const made = await ask('POST', '/v1/clients/', { body: { name: 'ci' } })
    const [account] = made.json<{ accounts: { secret: string }[] }>().accounts
    const headers = await getToken(url, { client_id: 'ci', client_secret: account?.secret })
    const askLimited = createClient(url, headers)
    const grantsNow = async () => (await askLimited('GET', '/v1/whoami')).json<{ grants?: string[] }>().grants
    assert.equal(await grantsNow(), undefined)
    assert.equal((await askLimited('GET', '/v1/status')).status, 200)
    await ask('PATCH', '/v1/clients/ci', { body: { grants: ['read'] } })
    assert.deepEqual(await grantsNow(), ['read'])
    assert.deepEqual(problemIn(await askLimited('GET', '/v1/status')), [403, 'not_granted'])
  })
})
