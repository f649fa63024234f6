import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { chmod, readFile, stat } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { loginsOf } from '../../../src/client/logins.ts'
import { systemAccount } from '../../../src/system-account.ts'
import { admin, client } from '../../support/service.ts'
import { openHome, openServer, web1 } from './client-home.ts'
import { serveJson, serveOther } from './other-server.ts'

const asAdmin = ['--user', admin.username]

/** The cookie of the one login. */
async function keptCookie(environment: NodeJS.ProcessEnv): Promise<string> {
  const [login] = await loginsOf(environment).list()
  return login?.cookie ?? assert.fail('there is no login')
}

describe('connbook login', () => {
  it('keeps the session for the commands that follow, and not the password', async (t) => {
    const { service } = await openServer(t, [web1])
    const { run, sessions } = await openHome(t)
    const login = await run(['login', `${service.url}/`, ...asAdmin], { input: `${admin.password}\nmore\n` })
    assert.deepEqual(login, { code: 0, stdout: '', stderr: `Logged in as admin at ${service.url}\n` })
    assert.deepEqual(await run(['ls', '--names']), { code: 0, stdout: 'web1\n', stderr: '' })
    assert.match((await run(['whoami'])).stdout, /\naccount\tadmin\nkind\tuser\n/)
    assert.equal((await stat(sessions)).mode & 0o777, 0o600)
    assert.doesNotMatch(await readFile(sessions, 'utf8'), new RegExp(admin.password))
  })

  it('replaces the login at the same server, and keeps those at others', async (t) => {
    const [{ service: one }, { service: two }] = [await openServer(t), await openServer(t)]
    const { run, sessions } = await openHome(t)
    for (const { url } of [one, two, one])
      assert.equal((await run(['login', url, ...asAdmin], { input: admin.password })).code, 0)
    const text = await readFile(sessions, 'utf8')
    for (const { url } of [one, two]) assert.equal(text.split(`"${url}"`).length, 2)
    assert.equal((await run(['ls'])).code, 2)
    assert.equal((await run(['ls', '--server', new URL(two.url).host])).code, 0)
  })

  it('keeps nothing when user or password is wrong, with exit code 5', async (t) => {
    const { service } = await openServer(t)
    const { run, sessions } = await openHome(t)
    const { code, stderr } = await run(['login', service.url, ...asAdmin], { input: 'wrong\n' })
    assert.deepEqual(
      [code, stderr],
      [5, `connbook: Not logged in at ${service.url}: user or password is wrong\n`],
    )
    await assert.rejects(stat(sessions), { code: 'ENOENT' })
  })

  it('wants a user and a password when there is no terminal', async (t) => {
    const { run } = await openHome(t)
    const nobody = await run(['login', 'http://127.0.0.1:1'])
    assert.equal(nobody.code, 2)
    assert.match(
      nobody.stderr,
      /^connbook: There is no terminal to ask for the user on; give it as a flag\n$/,
    )
    const empty = await run(['login', 'http://127.0.0.1:1', ...asAdmin])
    assert.equal(empty.code, 2)
    assert.match(empty.stderr, /^connbook: The password is empty; /)
  })

  it('sends no password over plain HTTP, except with --plain, and remembers that', async (t) => {
    const { service } = await openServer(t)
    const url = service.url.replace('127.0.0.1', '0.0.0.0')
    const { run } = await openHome(t)
    const refused = await run(['login', url, ...asAdmin], { input: admin.password })
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /^connbook: Nothing was sent to /)
    const login = await run(['login', url, '--plain', ...asAdmin], { input: admin.password })
    assert.deepEqual([login.code, login.stderr], [0, `Logged in as admin at ${url}\n`])
    assert.equal((await run(['ls'])).code, 0)
    // Not of another credential.
    assert.equal((await run(['ls', '--server', url], { environment: { CONNBOOK_TOKEN: 'x' } })).code, 5)
    assert.equal((await run(['logout'])).code, 0)
  })

  it('refuses a file of logins that others may read, before it asks for a password', async (t) => {
    const { service } = await openServer(t)
    const { run, sessions } = await openHome(t)
    await run(['login', service.url, ...asAdmin], { input: admin.password })
    await chmod(sessions, 0o644)
    const openInput = () => assert.fail('the password is read')
    const login = await run(['login', service.url, ...asAdmin], { openInput })
    for (const { code, stderr } of [login, await run(['ls'])]) {
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot use the logins in "[^\n]+": others may read or write it [^\n]+\n$/,
      )
    }
    assert.equal((await run(['ls', '--data', service.folder.path])).code, 0)
  })

  it('says that what answers begins no session', async (t) => {
    const { run } = await openHome(t)
    for (const headers of [{}, { 'Set-Cookie': 'nonsense' }]) {
      const url = await serveJson(t, 200, {}, headers)
      const { code, stderr } = await run(['login', url, ...asAdmin], { input: 'x' })
      assert.deepEqual([code, stderr], [1, `connbook: ${url} begins no session; is it a connbook?\n`])
    }
  })
})

describe('connbook logout', () => {
  it('ends the session here and at the server', async (t) => {
    const { service } = await openServer(t)
    const { run, environment } = await openHome(t)
    await run(['login', service.url, ...asAdmin], { input: admin.password })
    const headers = { Cookie: await keptCookie(environment) }
    const ask = async () => (await service.call('/v1/whoami', { headers })).status
    assert.equal(await ask(), 200)
    assert.deepEqual(await run(['logout']), { code: 0, stdout: '', stderr: `Logged out at ${service.url}\n` })
    assert.equal(await ask(), 403)
    assert.deepEqual(await run(['logout']), { code: 5, stdout: '', stderr: 'connbook: No login is kept\n' })
  })

  it('wants to know which of several, by URL or host', async (t) => {
    const { run } = await openHome(t)
    const services = [(await openServer(t)).service, (await openServer(t)).service]
    for (const { url } of services) await run(['login', url, ...asAdmin], { input: admin.password })
    const several = await run(['logout'])
    assert.equal(several.code, 2)
    assert.match(several.stderr, /say which one:\n {2}--server http:.*\n {2}--server http:.*\n$/)
    const [one, two] = services.map(({ url }) => url)
    assert.equal(
      (await run(['logout', '--server', new URL(one ?? '').host])).stderr,
      `Logged out at ${one}\n`,
    )
    const other = await run(['logout', '--server', one ?? ''])
    assert.deepEqual([other.code, other.stderr], [5, `connbook: No login at ${one} is kept\n`])
    assert.equal((await run(['logout'])).stderr, `Logged out at ${two}\n`)
  })

  it('forgets a session that has ended, and one whose server is gone', async (t) => {
    const { service } = await openServer(t)
    const { run, environment } = await openHome(t)
    const logIn = () => run(['login', service.url, ...asAdmin], { input: admin.password })
    await logIn()
    const headers = { Cookie: await keptCookie(environment) }
    await service.call('/logout', { method: 'POST', headers })
    assert.equal((await run(['logout'])).code, 0)
    assert.equal((await logIn()).code, 0)
    await service.stop()
    const { code, stderr } = await run(['logout'])
    assert.equal(code, 6)
    assert.match(
      stderr,
      /\(ECONNREFUSED\); the session is forgotten here, but stays good at the server until it expires\n$/,
    )
    assert.equal((await run(['logout'])).code, 5)
  })

  it('leaves the credentials of variables alone', async (t) => {
    const seen: string[] = []
    const url = await serveOther(t, (request, response) => {
      seen.push(`${request.url} ${request.headers.cookie} ${request.headers.authorization}`)
      response.writeHead(200, { 'Set-Cookie': 'session=x; HttpOnly' }).end('{}')
    })
    const { run } = await openHome(t, { CONNBOOK_TOKEN: client.client_secret.replaceAll(' ', '') })
    await run(['login', url, ...asAdmin], { input: 'x' })
    await run(['logout'])
    assert.deepEqual(seen, ['/login undefined undefined', '/logout session=x undefined'])
  })
})

describe('connbook whoami', () => {
  it('shows server, account, what it may do, and until when', async (t) => {
    const { run, see, service } = await openServer(t)
    const { code, stdout, stderr } = await run(['whoami'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout.replace(service.url, 'URL'),
      /^server\tURL\naccount\tscript\nkind\tclient\nscope\tread write\nexpires_at\t\S+\n$/,
    )
    assert.match((await see(['whoami'])).stdout, /^server {6}http:.*\naccount {5}script\n/)
    const { server, account } = JSON.parse((await run(['whoami', '--json'])).stdout)
    assert.deepEqual([server, account], [service.url, 'script'])
  })

  it('is the account of the machine on the socket of the owner', async (t) => {
    const { service } = await openServer(t)
    const { run } = await openHome(t)
    const { stdout } = await run(['whoami', '--data', service.folder.path])
    assert.match(stdout, /^server\t\/.*\n/)
    assert.ok(stdout.includes(`\naccount\t${systemAccount()}\n`), stdout)
  })

  it('shows which server is called, whatever that one says', async (t) => {
    const url = await serveJson(t, 200, {
      account: '\u202eeve',
      server: 'https://book.example.net',
      scope: [1],
    })
    const { run, see } = await openHome(t, { CONNBOOK_SERVER: url })
    assert.ok((await run(['whoami'])).stdout.startsWith(`server\t${url}\n`))
    for (const form of [[], ['--json']]) {
      const { stdout } = await see(['whoami', ...form])
      assert.match(stdout, /\\u202eeve/)
      assert.doesNotMatch(stdout, /\p{Cf}|book\.example/u)
    }
  })

  it('says of anything else that it does not say who calls', async (t) => {
    for (const body of [{}, [], { account: 1 }]) {
      const url = await serveJson(t, 200, body)
      const { run } = await openHome(t, { CONNBOOK_SERVER: url })
      const { code, stderr } = await run(['whoami'])
      assert.deepEqual(
        [code, stderr],
        [1, `connbook: ${url} does not say who calls; is it an older connbook?\n`],
      )
    }
  })
})
