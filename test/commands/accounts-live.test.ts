import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'

/** A server with `admin` and `client`, whose accounts change while it runs or while it is stopped. */
async function startServer(t: TestContext, isRunning: boolean) {
  const folder = await usedFolder(t)
  let server = await start(t, { folder })
  const ask = (...args: Parameters<ReturnType<typeof createClient>>) => createClient(server.url)(...args)
  return {
    folder,
    ask,
    url: () => server.url,
    isIn: async (headers: Headers) => (await ask('GET', '/configurations/', { headers })).status === 200,
    logsIn: async (username: string, password: string) =>
      (await ask('POST', '/login', { body: { username, password } })).status === 200,
    getsToken: async (client_id: string, client_secret: string) =>
      (await ask('POST', '/v1/auth/token', { body: { client_id, client_secret } })).status === 200,
    /** Runs a command with the server running or stopped, as the case says; a server runs afterwards. */
    async run(words: string, input = '') {
      if (!isRunning) await server.stop()
      const { code, stdout, stderr } = await runCommand([...words.split(' '), '--data', folder], { input })
      assert.equal(code, 0, stderr)
      if (!isRunning) server = await start(t, { folder })
      return { stdout, stderr }
    },
  }
}

const secretIn = (stdout: string) =>
  /^client_secret: ([A-Za-z0-9]{43})$/m.exec(stdout)?.[1] ?? assert.fail(stdout)

for (const isRunning of [true, false]) {
  describe(`with the server ${isRunning ? 'running' : 'stopped'}`, () => {
    it('user add adds a user who can log in', async (t) => {
      const { folder, run, logsIn } = await startServer(t, isRunning)
      assert.equal((await run('user add eve', 'a secret\n')).stderr, `Added user "eve" in ${folder}\n`)
      assert.equal(await logsIn('eve', 'a secret'), true)
      assert.equal(await logsIn('eve', 'a secret\n'), false)
      assert.equal(await logsIn(admin.username, admin.password), true)
    })

    it('client add shows a secret that gets tokens', async (t) => {
      const { folder, run, getsToken } = await startServer(t, isRunning)
      const { stdout, stderr } = await run('client add ci')
      assert.equal(stderr, `Added client "ci" in ${folder}\n`)
      assert.match(stdout, /^client_id: ci\nclient_secret: .*\n$/)
      assert.equal(await getsToken('ci', secretIn(stdout)), true)
    })

    const endings = [
      ['user passwd admin', 'new secret\n', 'session'],
      ['user remove admin', '', 'session'],
      ['client rotate script', '', 'token'],
      ['client remove script', '', 'token'],
    ] as const
    for (const [words, input, ended] of endings) {
      it(`${words} ends every ${ended} of that account, and no other`, async (t) => {
        const { folder, run, isIn, logsIn, getsToken, url } = await startServer(t, isRunning)
        const [session, token] = [await logIn(url(), admin), await getToken(url(), client)]
        const [mine, other] = ended === 'session' ? [session, token] : [token, session]
        assert.deepEqual([await isIn(mine), await isIn(other)], [true, true])
        const { stdout, stderr } = await run(words, input)
        assert.match(stderr, new RegExp(` in ${folder}(?:; every .* has ended)?\n`))
        assert.deepEqual([await isIn(mine), await isIn(other)], [false, true])
        assert.equal(await logsIn(admin.username, admin.password), ended !== 'session')
        assert.equal(await getsToken(client.client_id, client.client_secret), ended !== 'token')
        if (words.includes('passwd')) assert.equal(await logsIn(admin.username, 'new secret'), true)
        if (words.includes('rotate')) assert.equal(await getsToken(client.client_id, secretIn(stdout)), true)
      })
    }
  })
}

it('client remove ends the event streams of that client, answers its waiting reads with 403, and leaves others', async (t) => {
  const { ask, run, url } = await startServer(t, true)
  const [session, token] = [await logIn(url(), admin), await getToken(url(), client)]
  const [own, other] = [await readEvents(t, url(), token), await readEvents(t, url(), session)]
  await Promise.all([own, other].map((reader) => reader.until('\n\n')))
  const list = '/configurations/'
  const etag = String((await ask('HEAD', list, { headers: token })).headers.etag)
  const poll = ask('GET', list, { headers: { ...token, Prefer: 'wait=50', 'If-None-Match': etag } })
  await eventually('the read waits', async () =>
    (await ask('GET', '/metrics', { headers: session })).text.includes('connbook_waiting_polls 1\n'),
  )
  await run('client remove script')
  const refused = await poll
  assert.equal(refused.status, 403)
  assert.match(refused.text, /invalid_token/)
  await own.ended
  const body = { name: 'a', hostname: 'h', port: 1, username: 'u' }
  await ask('POST', list, { headers: session, body })
  assert.equal((await other.take(1))[0]?.event, 'added')
  assert.deepEqual(own.events(), [])
})
