import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'

/** A server, and the commands beside it. */
async function startServer(t: TestContext) {
  const folder = await usedFolder(t)
  const { url } = await start(t, { folder })
  const ask = createClient(url)
  return {
    ...{ folder, url },
    async run(words: string, input = '') {
      const done = await runCommand([...words.split(' '), '--data', folder], { input })
      assert.equal(done.code, 0, done.stderr)
      return /^client_secret: (\S+)$/m.exec(done.stdout)?.[1] ?? ''
    },
    logsIn: async (password: string, username = 'eve') =>
      (await ask('POST', '/login', { body: { username, password } })).status,
    getsToken: async (client_secret: string, client_id = 'ci') =>
      (await ask('POST', '/v1/auth/token', { body: { client_id, client_secret } })).status,
    status: async (headers: Headers, path = '/configurations/', method = 'GET') =>
      (await ask(method, path, { headers, ...(method === 'GET' ? {} : { body: {} }) })).status,
  }
}

describe('a command for accounts that has returned', () => {
  it('has added the user, changed the password, and removed the user', async (t) => {
    const { run, url, logsIn, status } = await startServer(t)
    await run('user add eve', 'first password')
    assert.equal(await logsIn('first password'), 200)
    const session = await logIn(url, { username: 'eve', password: 'first password' })
    await run('user passwd eve', 'second password')
    assert.deepEqual([await status(session), await logsIn('first password')], [403, 401])
    assert.equal(await logsIn('second password'), 200)
    const next = await logIn(url, { username: 'eve', password: 'second password' })
    await run('user remove eve')
    assert.deepEqual([await status(next), await logsIn('second password')], [403, 401])
  })

  it('has added the client, given it another secret, and removed it', async (t) => {
    const { run, url, getsToken, status } = await startServer(t)
    const first = await run('client add ci')
    assert.equal(await getsToken(first), 200)
    const token = await getToken(url, { client_id: 'ci', client_secret: first })
    const second = await run('client rotate ci')
    assert.deepEqual([await status(token), await getsToken(first), await getsToken(second)], [403, 401, 200])
    const next = await getToken(url, { client_id: 'ci', client_secret: second })
    await run('client remove ci')
    assert.deepEqual([await status(next), await getsToken(second)], [403, 401])
  })

  it('has changed what an account may do and see', async (t) => {
    const { run, url, status } = await startServer(t)
    const secret = await run('client add ci --read-only')
    const token = () => getToken(url, { client_id: 'ci', client_secret: secret })
    const change = async (headers: Headers) => status(headers, '/configurations/none', 'PATCH')
    assert.equal(await change(await token()), 403)
    await run('client set ci --read-write')
    const writer = await token()
    assert.equal(await change(writer), 404)
    await run('client set ci --read-only')
    assert.equal(await change(writer), 403)
    const list = async () => (await createClient(url, await token())('GET', '/configurations/')).headers
    await createClient(url, await logIn(url, admin))('POST', '/configurations/', {
      body: { name: 'a', hostname: 'a.example', port: 22, username: 'u' },
    })
    assert.equal((await list())['x-total-count'], '1')
    await run('client set ci --grant read?prefix=b')
    assert.equal((await list())['x-total-count'], '0')
  })

  it('has ended all credentials, and what is given now is good', async (t) => {
    const { run, url, status } = await startServer(t)
    const session = await logIn(url, admin)
    await run('keys revoke-all')
    assert.equal(await status(session), 403)
    assert.equal(await status(await getToken(url, client)), 200)
    await run('keys rotate')
    assert.equal(await status(await logIn(url, admin)), 200)
  })
})
