import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { administered, managing } from '../../resources/administrators.ts'
import { getToken, logIn } from '../../support/api.ts'
import { readingUser } from '../../support/readers.ts'
import { usedFolder } from '../../support/service.ts'
import { openHome } from './client-home.ts'
import { serveOther } from './other-server.ts'

const password = 'a good password'

/** A server, and a home whose commands can become a client that is an admin. */
async function setUp(t: TestContext) {
  const server = await administered(t)
  const home = await openHome(t, {
    CONNBOOK_LOGIN_CLIENT_ID: managing.client_id,
    CONNBOOK_LOGIN_CLIENT_SECRET: managing.client_secret,
  })
  const { url } = server
  const run = (words: string, input = `${password}\n`) =>
    home.run([...words.split(' '), '--server', url], { input })
  return { ...server, home, run }
}

describe('the commands for accounts with --server', () => {
  it('add, change and remove a user, and list', async (t) => {
    const { run, url, ask, folder } = await setUp(t)
    const done = (what: string, more = '') => ({ code: 0, stdout: '', stderr: `${what} at ${url}${more}\n` })
    assert.deepEqual(await run('user add eve --read-only'), done('Added read-only user "eve"'))
    await logIn(url, { username: 'eve', password })
    assert.deepEqual(
      await run('user set eve --admin'),
      done('User "eve"', ' can read and change records, and manage accounts from now on'),
    )
    assert.equal((await run('user list')).stdout, 'admin\tadmin\neve\tadmin\nreader\tread-only\n')
    assert.deepEqual(
      await run('user passwd eve', 'another password\n'),
      done('Changed the password of user "eve"', '; every session of this user has ended'),
    )
    await logIn(url, { username: 'eve', password: 'another password' })
    assert.deepEqual(await run('user remove eve'), done('Removed user "eve"'))
    assert.equal((await ask('GET', '/v1/users/eve')).status, 404)
    assert.ok(folder)
  })

  it('show the secret that the server has made for a client, and take a chosen one', async (t) => {
    const { run, url } = await setUp(t)
    const added = await run('client add ci')
    assert.deepEqual([added.code, added.stderr], [0, `Added client "ci" at ${url}\n`])
    const secretIn = (stdout: string) => /^client_id: ci\nclient_secret: (\w{43})\n$/.exec(stdout)?.[1]
    await getToken(url, { client_id: 'ci', client_secret: secretIn(added.stdout) })
    const rotated = await run('client rotate ci')
    await getToken(url, { client_id: 'ci', client_secret: secretIn(rotated.stdout) })
    assert.notEqual(secretIn(rotated.stdout), secretIn(added.stdout))
    const chosen = await run('client rotate ci --secret-stdin', 'sixteen characters\n')
    assert.equal(chosen.stdout, 'client_id: ci\n')
    await getToken(url, { client_id: 'ci', client_secret: 'sixteen characters' })
    assert.equal((await run('client list')).stdout, 'ci\nmanager\tadmin\nscript\nviewer\tread-only\n')
  })

  it('end as on a folder: 3 for an unknown account, 4 for one that is there, or the last admin', async (t) => {
    const { run, url } = await setUp(t)
    for (const words of ['user set nobody --read-only', 'user passwd nobody', 'user remove nobody'])
      assert.deepEqual(await run(words), {
        code: 3,
        stdout: '',
        stderr: `connbook: There is no user "nobody" at ${url}\n`,
      })
    assert.deepEqual(await run('user remove nobody --if-present'), {
      code: 0,
      stdout: '',
      stderr: `There is no user "nobody" at ${url}; nothing has changed\n`,
    })
    const taken = await run('user add reader')
    assert.deepEqual(
      [taken.code, taken.stderr],
      [4, 'connbook: Cannot add the user "reader": there is one already\n'],
    )
    assert.deepEqual(await run('user add reader --if-missing'), {
      code: 0,
      stdout: '',
      stderr: `There is user "reader" at ${url} already; nothing has changed\n`,
    })
    const last = await run('user remove admin')
    assert.equal(last.code, 4)
    assert.match(last.stderr, /^connbook: Cannot remove the user "admin": no other user is an admin; /)
    const named = await run('client add a:b')
    assert.deepEqual(
      [named.code, named.stderr],
      [
        2,
        'connbook: The account is not valid\n  ID must not hold a ":", which HTTP Basic authentication cannot send\n',
      ],
    )
    assert.match(
      (await run('user add eve', 'short\n')).stderr,
      /^connbook: Cannot use the password: it is shorter/,
    )
  })

  it('use a kept login, and end with 5 for one that is not an admin', async (t) => {
    const { url } = await setUp(t)
    const home = await openHome(t)
    const list = ['user', 'list', '--server', url]
    assert.equal((await home.run(list)).code, 5)
    await home.run(['login', url, '--user', readingUser.username], { input: `${readingUser.password}\n` })
    const refused = await home.run(list)
    assert.deepEqual(
      [refused.code, refused.stderr],
      [5, 'connbook: This credential cannot manage accounts; use one with the scope admin\n'],
    )
  })

  it('work on the folder without it, whatever server a variable or a login names', async (t) => {
    const { url, ask } = await setUp(t)
    const folder = await usedFolder(t)
    const home = await openHome(t, { CONNBOOK_SERVER: url })
    const { code } = await home.run(['user', 'add', 'eve', '--data', folder], { input: password })
    assert.equal(code, 0)
    assert.equal((await ask('GET', '/v1/users/eve')).status, 404)
    assert.equal((await home.run(['user', 'list', '--data', folder])).stdout, 'admin\tadmin\neve\n')
  })

  it('say so when the answer is not that of a connbook', async (t) => {
    const url = await serveOther(t, (_, response) => void response.end('{"accounts":[{"name":1}]}'))
    const home = await openHome(t)
    const { code, stderr } = await home.run(['user', 'list', '--server', url])
    assert.deepEqual([code, stderr], [1, `connbook: ${url} answers no accounts; is it a connbook?\n`])
  })
})
