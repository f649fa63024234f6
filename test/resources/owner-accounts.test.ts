import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { addedBy } from '../audit/trail.ts'
import { initialCredentialsIn } from '../service/first-credentials.ts'
import { getToken, logIn } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { asOwner } from '../support/owner.ts'
import { admin, client, start } from '../support/service.ts'
import { problemIn } from './administrators.ts'

describe('accounts, for the owner of the folder', () => {
  it('may lose the last admin, the last who changes records, and the last one, with a warning each', async (t) => {
    const service = await start(t)
    const ask = asOwner(service)
    const asAdmin = createClient(service.url, await logIn(service.url, admin))
    const commandOf = (words: string) => `run: connbook ${words} --data '${service.folder.path}'`
    assert.deepEqual(problemIn(await asAdmin('DELETE', '/v1/users/admin')), [409, 'last_admin'])
    const lowered = await ask('PATCH', '/v1/users/admin', { body: { scope: 'write' } })
    assert.equal(lowered.status, 200)
    assert.deepEqual(lowered.json(), {
      accounts: [{ name: 'admin', kind: 'user', scope: 'write' }],
      warning: `no account is an admin any more, so nobody can manage accounts over HTTP; ${commandOf('user set admin')} --admin`,
    })
    assert.deepEqual(problemIn(await asAdmin('GET', '/v1/users/')), [403, 'insufficient_scope'])
    // It was so before.
    const grants = ['read']
    const limited = await ask('PATCH', '/v1/users/admin', { body: { grants } })
    assert.deepEqual(limited.json(), { accounts: [{ name: 'admin', kind: 'user', scope: 'write', grants }] })

    assert.equal(
      (await ask('PATCH', `/v1/clients/${client.client_id}`, { body: { scope: 'read' } })).status,
      200,
    )
    const last = await ask('PATCH', '/v1/users/admin', { body: { scope: 'read' } })
    assert.match(
      last.json<{ warning: string }>().warning,
      /^every account is read-only now, so nobody can change/,
    )
    const first = await ask('DELETE', `/v1/clients/${client.client_id}`)
    assert.deepEqual([first.status, first.text], [204, ''])
    const none = await ask('DELETE', '/v1/users/admin')
    assert.equal(none.status, 200)
    assert.deepEqual(none.json(), {
      warning: `there is no user and no client any more, so nobody can log in; ${commandOf('user add NAME')}`,
    })
    // It is better than before.
    const body = { name: 'eve', password: 'a good password', scope: 'read' }
    const added = await ask('POST', '/v1/users/', { body })
    assert.deepEqual([added.status, Object.keys(added.json<object>())], [201, ['accounts']])
  })

  it('are unknown or taken as for admins', async (t) => {
    const ask = asOwner(await start(t))
    for (const method of ['GET', 'PATCH', 'DELETE'])
      assert.deepEqual(
        problemIn(await ask(method, '/v1/users/eve', { body: { scope: 'read' } })),
        [404, 'unknown_account'],
        method,
      )
    const body = { name: client.client_id }
    assert.deepEqual(problemIn(await ask('POST', '/v1/clients/', { body })), [409, 'name_taken'])
  })

  it('are added with chosen or made secrets that work at once, and the trail names the command', async (t) => {
    const service = await start(t)
    const ask = asOwner(service, { 'Connbook-Account': 'jo', 'Connbook-Command': 'client add' })
    const lines = await addedBy(service.folder.path, async () => {
      const secret = 'a chosen secret of a client'
      const chosen = await ask('POST', '/v1/clients/', {
        body: { name: 'one', secret, grants: ['read?prefix=a'] },
      })
      assert.deepEqual(chosen.json(), {
        accounts: [{ name: 'one', kind: 'client', scope: 'write', grants: ['read?prefix=a'] }],
      })
      const made = await ask('POST', '/v1/clients/', { body: { name: 'two', scope: 'admin' } })
      const { accounts } = made.json<{ accounts: { secret: string }[] }>()
      const two = await getToken(service.url, { client_id: 'two', client_secret: accounts[0]?.secret })
      assert.equal((await createClient(service.url, two)('GET', '/v1/whoami')).status, 200)
      await getToken(service.url, { client_id: 'one', client_secret: secret })
    })
    const actor = { command: 'client add', by: 'jo' }
    assert.deepEqual(
      lines.filter(({ event }) => event === 'client_added'),
      [
        { event: 'client_added', ...actor, account: 'one', scope: 'read write', grants: ['read?prefix=a'] },
        { event: 'client_added', ...actor, account: 'two', scope: 'read write admin' },
      ],
    )
  })

  it('lose their initial credentials with the secret', async (t) => {
    const service = await start(t, { environment: {} })
    const ask = asOwner(service)
    const { username, client_id, client_secret } = await initialCredentialsIn(service.folder.path)
    await ask('PATCH', `/v1/users/${username}`, { body: { password: 'another good password' } })
    assert.deepEqual(await initialCredentialsIn(service.folder.path), { client_id, client_secret })
    const rotated = await ask('PATCH', `/v1/clients/${client_id}`, { body: { rotate: true } })
    assert.notEqual(rotated.json<{ accounts: { secret: string }[] }>().accounts[0]?.secret, client_secret)
    await assert.rejects(initialCredentialsIn(service.folder.path), { code: 'ENOENT' })
    assert.ok(
      !(await service.folder.files.readdir(service.folder.path)).includes(dataFiles.initialCredentials),
    )
  })

  it('begin without failed attempts when they get a new password', async (t) => {
    const { url, folder } = await start(t)
    const attempt = (password: string) =>
      createClient(url)('POST', '/login', { body: { username: admin.username, password } })
    for (let i = 0; i < FREE_FAILURES; i++) assert.equal((await attempt('wrong')).status, 401)
    assert.equal((await attempt(admin.password)).status, 429)
    const password = 'another good password'
    assert.equal((await asOwner({ folder })('PATCH', '/v1/users/admin', { body: { password } })).status, 200)
    assert.equal((await attempt(password)).status, 200)
  })
})
