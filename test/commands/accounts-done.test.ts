import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { SERVER_WAIT_MS } from '../../src/commands/server-catch-up.ts'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { holdPolls } from './live-credentials.ts'

/** A server that never looks for changes by itself, and the commands beside it. */
async function startServer(t: TestContext) {
  holdPolls(t)
  const folder = await usedFolder(t)
  const { url } = await start(t, { folder })
  const ask = createClient(url)
  return {
    ...{ folder, url },
    async run(words: string, input = '') {
      const done = await runCommand([...words.split(' '), '--data', folder], { input })
      assert.equal(done.code, 0, done.stderr)
      assert.doesNotMatch(done.stderr, /has not said/)
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

  it('holds for logins also where the server has no socket', async (t) => {
    const { folder, run, logsIn, getsToken, status, url } = await startServer(t)
    await unlink(ownerSocketPath(folder))
    await run('user add eve', 'first password')
    assert.equal(await logsIn('first password'), 200)
    await run('user passwd eve', 'second password')
    assert.deepEqual([await logsIn('first password'), await logsIn('second password')], [401, 200])
    const secret = await run('client add ci')
    assert.equal(await getsToken(secret), 200)
    await run('keys revoke-all')
    assert.equal(await status(await logIn(url, admin)), 200)
  })
})

describe('what a command for accounts or keys has done', () => {
  const commands = [
    ['client add ci', '', /^client_secret: \S+\n$/m],
    ['client rotate script', '', /^client_secret: \S+\n$/m],
    ['client set script --read-only', '', /is read-only from now on/],
    ['client remove script', '', /^Removed client/],
    ['user add eve', 'first password', /^Added user/],
    ['user passwd admin', 'second password', /^Changed the password/],
    ['keys rotate', '', /^Rotated the keys/],
    ['keys revoke-all', '', /^Replaced the keys/],
  ] as const
  for (const [words, input, text] of commands)
    it(`is shown by ${words} before the server knows it`, async (t) => {
      const { folder, run } = await startSilentServer(t, (answer) => answer.end('{}'))
      const { code, stderr, seen } = await run(words, input)
      assert.deepEqual([code, stderr], [0, ''], folder)
      assert.match(seen, text)
    })

  it('is not waited for beyond some seconds, with a server that is silent or still starts', async (t) => {
    const starting = (answer: ServerResponse) => answer.writeHead(503, { 'Retry-After': '20' }).end()
    for (const reply of [() => {}, starting]) {
      const limit = new AbortController()
      const limits = t.mock.method(AbortSignal, 'timeout', () => limit.signal)
      const { folder, run } = await startSilentServer(t, (answer) => {
        reply(answer)
        limit.abort()
      })
      const { code, stdout, stderr } = await run('client rotate script')
      assert.deepEqual(limits.mock.calls[0]?.arguments, [SERVER_WAIT_MS])
      limits.mock.restore()
      assert.equal(code, 0)
      assert.match(stdout, /^client_secret: \S+\n$/m)
      const warning = `connbook: Warning: the change is made, but the server of "${folder}" has not said that it knows of it (no answer within 5 s); `
      assert.ok(stderr.startsWith(warning), stderr)
    }
  })
})

/** Something that answers on the owner's socket of a folder, and the commands beside it. */
async function startSilentServer(t: TestContext, reply: (answer: ServerResponse) => void) {
  const folder = await usedFolder(t)
  let shown = ''
  /** Standard output when the first call came. */
  let seen: string | undefined
  const server = createServer((_, answer) => {
    seen ??= shown
    reply(answer)
  })
  await once(server.listen(ownerSocketPath(folder)), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    folder,
    async run(words: string, input = '') {
      const onOutput = (stdout: string) => {
        shown = stdout
      }
      const done = await runCommand([...words.split(' '), '--data', folder], { input, onOutput })
      return { ...done, seen: seen ?? assert.fail('The server was not called') }
    },
  }
}
