import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { PASSWORD_CHANGES_MAX } from '../../src/auth/authenticator.ts'
import { findInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { dataFiles, dataPaths, ownerSocketPath } from '../../src/files/data-folder.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { addedBy } from '../audit/trail.ts'
import { isGood } from '../commands/live-credentials.ts'
import { getToken, logIn } from '../support/api.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { type Answer, createClient, faultyFields } from '../support/http-client.ts'
import { folderWithReaders, readingClient, readingUser } from '../support/readers.ts'
import { admin, client, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

const path = '/v1/password'
const next = 'a new password'

/** The `Cookie` header that an answer sets. */
function cookieOf(answer: Answer) {
  const [set = assert.fail(`no cookie: ${answer.status} ${answer.text}`)] = answer.headers['set-cookie'] ?? []
  return { Cookie: set.split(';')[0] ?? '' }
}

function codeOf(answer: Answer) {
  return [answer.status, answer.json<{ type: string }>().type.replace('urn:connbook:problem:', '')]
}

describe('GET /v1/whoami', async () => {
  // Later than whatever the folder remembers.
  const clock = holdClock(Date.UTC(2100, 0, 1))
  const service = await start(
    { after },
    { folder: await folderWithReaders({ after }), environment: {}, clock },
  )
  const ask = createClient(service.url)
  const rows = {
    'a session': [() => logIn(service.url, admin), 'admin', 'user', 'read write admin', 12 * 3600],
    'a token': [() => getToken(service.url, client), 'script', 'client', 'read write', 3600],
    'the session of a read-only user': [
      () => logIn(service.url, readingUser),
      'reader',
      'user',
      'read',
      12 * 3600,
    ],
    'the token of a read-only client': [
      () => getToken(service.url, readingClient),
      'viewer',
      'client',
      'read',
      3600,
    ],
    'a token that may only read': [
      () => getToken(service.url, { ...client, scope: 'read' }),
      'script',
      'client',
      'read',
      3600,
    ],
  } as const
  for (const [what, [obtain, account, kind, scope, ttlSeconds]] of Object.entries(rows)) {
    it(`says whose credential it is: ${what}`, async () => {
      const headers = await obtain()
      const answer = await ask('GET', '/v1/whoami', { headers })
      assert.equal(answer.headers['cache-control'], 'no-store')
      const expires = (Math.floor(clock.wall / 1000) + ttlSeconds) * 1000
      assert.equal(
        answer.text,
        JSON.stringify({ account, kind, scope, expires_at: new Date(expires).toISOString() }),
      )
    })
  }

  it('names the command on the socket of the owner, which needs no credential', async () => {
    const socketPath = ownerSocketPath(service.folder.path)
    const answer = await createClient(service.url, {}, { socketPath })('GET', '/v1/whoami')
    const { kind, expires_at: expires } = answer.json<Record<string, string>>()
    assert.deepEqual([answer.status, kind, expires], [200, 'command', undefined])
  })
})

/** A service on a folder with read-only accounts, and a session of `admin`. */
async function setUp(t: TestContext, files = createFailingFiles()) {
  const folder = await folderWithReaders(t)
  const clock = holdClock()
  const service = await start(t, { folder, environment: {}, clock, files })
  const session = await logIn(service.url, admin)
  const ask = createClient(service.url)
  const change = (body: unknown, headers: { Cookie: string } = session) =>
    ask('POST', path, { headers, body })
  const loginStatus = async (password: string) =>
    (await ask('POST', '/login', { body: { username: 'admin', password } })).status
  return { folder, clock, service, files, session, ask, change, loginStatus }
}
const wanted = { password: admin.password, new_password: next }

describe('POST /v1/password', () => {
  it('changes the password, ends the other sessions of the user and gives this one a new cookie', async (t) => {
    const { service, session, change, loginStatus } = await setUp(t)
    const { url } = service
    const [other, token, theirs] = [
      await logIn(url, admin),
      await getToken(url, client),
      await logIn(url, readingUser),
    ]
    const answer = await change(wanted)
    assert.deepEqual([answer.status, answer.text], [200, 'Success'])
    assert.match(
      answer.headers['set-cookie']?.[0] ?? '',
      /^connbook_session_[0-9a-f]{8}=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    )
    const renewed = cookieOf(answer)
    const good = await Promise.all([renewed, token, theirs, session, other].map((each) => isGood(url, each)))
    assert.deepEqual(good, [true, true, true, false, false])
    assert.deepEqual([await loginStatus(admin.password), await loginStatus(next)], [401, 200])
  })

  it('lasts over a restart, with the new session', async (t) => {
    const { folder, service, change } = await setUp(t)
    const renewed = cookieOf(await change(wanted))
    await service.stop()
    const { url } = await start(t, { folder, environment: {} })
    assert.equal(await isGood(url, renewed), true)
    assert.equal(await isGood(url, await logIn(url, { ...admin, password: next })), true)
  })

  it('is in the audit trail and the log, without the passwords', async (t) => {
    const { folder, service, change } = await setUp(t)
    const lines = await addedBy(folder, () => change(wanted))
    assert.equal(lines.length, 1)
    const { event, account, kind, by } = lines[0] ?? {}
    assert.deepEqual([event, account, kind, by], ['user_password_changed', 'admin', 'user', 'admin'])
    const logged = service.log.lines.join('\n')
    assert.match(logged, /"event":"user_password_changed","account":"admin"/)
    for (const text of [JSON.stringify(lines), logged])
      assert.ok(!text.includes(next) && !text.includes(admin.password))
  })

  it('is for read-only users, too, who stay read-only', async (t) => {
    const { service, change } = await setUp(t)
    const headers = await logIn(service.url, readingUser)
    const answer = await change({ password: readingUser.password, new_password: next }, headers)
    const ask = createClient(service.url, cookieOf(answer))
    assert.equal((await ask('GET', '/v1/whoami')).json<{ scope: string }>().scope, 'read')
    assert.equal((await ask('DELETE', '/configurations/x')).status, 403)
  })

  it('is for sessions only', async (t) => {
    const { service, ask, loginStatus } = await setUp(t)
    const bearer = await ask('POST', path, { headers: await getToken(service.url, client), body: wanted })
    assert.deepEqual(codeOf(bearer), [403, 'session_required'])
    assert.equal(bearer.headers['www-authenticate'], 'Bearer realm="connbook"')
    const socketPath = ownerSocketPath(service.folder.path)
    const owner = await createClient(service.url, {}, { socketPath })('POST', path, { body: wanted })
    assert.deepEqual(codeOf(owner), [403, 'session_required'])
    assert.deepEqual(codeOf(await ask('POST', path, { body: wanted })), [403, 'not_authenticated'])
    assert.equal(await loginStatus(admin.password), 200)
  })

  it('is not for pages of other sites', async (t) => {
    const { session, ask, loginStatus } = await setUp(t)
    const headers = { ...session, 'Sec-Fetch-Site': 'cross-site' }
    assert.deepEqual(codeOf(await ask('POST', path, { headers, body: wanted })), [403, 'cross_site'])
    assert.equal(await loginStatus(admin.password), 200)
  })

  it('refuses a wrong password, and counts it with the logins', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const { folder, service, session, change, loginStatus, clock } = await setUp(t)
    const lines = await addedBy(folder, async () => {
      for (let i = 0; i < FREE_FAILURES; i++) {
        const answer = await change({ ...wanted, password: 'wrong' })
        assert.deepEqual(codeOf(answer), [400, 'wrong_password'])
        assert.equal(answer.headers['set-cookie'], undefined)
      }
    })
    assert.deepEqual(new Set(lines.map(({ event }) => event)), new Set(['login_failed']))
    assert.deepEqual(codeOf(await change(wanted)), [429, 'too_many_attempts'])
    assert.equal(await loginStatus(admin.password), 429)
    assert.equal(await isGood(service.url, session), true)
    clock.advance(3_600_000)
    assert.equal((await change(wanted)).status, 200)
  })

  it('names every fault of the body, and changes nothing', async (t) => {
    const { change, loginStatus } = await setUp(t)
    const { password } = admin
    const rows: [body: unknown, at: string[]][] = [
      [{}, ['password', 'new_password']],
      [{ password }, ['new_password']],
      [{ new_password: next }, ['password']],
      [{ password: 1, new_password: null }, ['password', 'new_password']],
      [{ password, new_password: '' }, ['new_password']],
      [{ password, new_password: '😀'.repeat(7) }, ['new_password']],
      [{ password, new_password: 'é'.repeat(513) }, ['new_password']],
      [{ password, new_password: 'two\nlines of it' }, ['new_password']],
      [{ password, new_password: '\ufeffmarked by an editor' }, ['new_password']],
      [{ password, new_password: 'a blank at the end ' }, ['new_password']],
      ['{"password":"x","new_password":"lone \\ud800 surrogate"}', ['new_password']],
    ]
    for (const [body, at] of rows) {
      const answer = await change(body)
      assert.deepEqual(codeOf(answer), [400, 'invalid_input'])
      assert.deepEqual(faultyFields(answer), at, JSON.stringify(body))
    }
    assert.equal(await loginStatus(password), 200)
    assert.equal((await change({ password, new_password: '😀'.repeat(8) })).status, 200)
  })

  it('takes the password out of the initial credentials, as user passwd does', async (t) => {
    const service = await start(t, { environment: {} })
    const { username = '', password = '', client_id = '' } = service.madeUp ?? assert.fail()
    const ask = createClient(service.url, await logIn(service.url, { username, password }))
    assert.equal((await ask('POST', path, { body: { password, new_password: username } })).status, 400)
    assert.equal((await ask('POST', path, { body: { password, new_password: next } })).status, 200)
    const left = await findInitialCredentials(dataPaths(service.folder.path))
    assert.deepEqual(Object.keys(left ?? {}), ['client_id', 'client_secret'])
    assert.equal(left?.client_id, client_id)
  })

  it('succeeds even if the initial credentials cannot be written, and the log says so', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { environment: {}, files })
    const { username, password } = service.madeUp ?? assert.fail()
    const headers = await logIn(service.url, { username, password })
    failOn(files, 'rename', dataFiles.initialCredentials, 'EIO')
    const body = { password, new_password: next }
    assert.equal((await createClient(service.url, headers)('POST', path, { body })).status, 200)
    assert.equal(
      service.log.lines.filter((line) => line.includes('initial_credentials_not_removed')).length,
      1,
    )
  })

  it('changes nothing on a full disk: 507', async (t) => {
    const { files, service, session, change, loginStatus } = await setUp(t)
    failOn(files, 'write', dataFiles.accounts, 'ENOSPC')
    assert.deepEqual(codeOf(await change(wanted)), [507, 'storage_full'])
    assert.equal(await isGood(service.url, session), true)
    assert.deepEqual([await loginStatus(next), await loginStatus(admin.password)], [401, 200])
    assert.equal((await change(wanted)).status, 200)
  })

  it('loses nothing of what others change of the accounts meanwhile', async (t) => {
    const { folder, service, change, loginStatus } = await setUp(t)
    const theirs = await logIn(service.url, readingUser)
    const asOwner = createClient(service.url, {}, { socketPath: ownerSocketPath(folder) })
    const add = (name: string) =>
      asOwner('POST', '/v1/users/', { body: { name, password: 'a long password' } })
    const [mine, changed, ...added] = await Promise.all([
      change(wanted),
      change({ password: readingUser.password, new_password: next }, theirs),
      add('one'),
      add('two'),
    ])
    assert.deepEqual(
      [mine.status, changed.status, ...added.map(({ status }) => status)],
      [200, 200, 201, 201],
    )
    const stored = (await accountsDocument(dataPaths(folder)).read()) ?? assert.fail()
    assert.deepEqual(stored.users.map(({ name }) => name).sort(), ['admin', 'one', 'reader', 'two'])
    const generations = [...stored.users, ...stored.clients].map(({ generation }) => generation)
    assert.equal(new Set(generations).size, generations.length)
    assert.equal(await loginStatus(next), 200)
  })

  it('changes the password once when one session calls twice at once', async (t) => {
    const { change, loginStatus } = await setUp(t)
    const bodies = ['first password', 'other password'].map((text) => ({ ...wanted, new_password: text }))
    const answers = await Promise.all(bodies.map((body) => change(body)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403])
    const won = bodies[answers.findIndex(({ status }) => status === 200)]
    assert.equal(await loginStatus(won?.new_password ?? ''), 200)
  })

  it('is 503 for a user who has changed it too often, until later', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const { folder, session, change, clock } = await setUp(t)
    let headers = session
    const lines = await addedBy(folder, async () => {
      for (let i = 0; i < PASSWORD_CHANGES_MAX; i++) {
        const answer = await change(
          { password: i === 0 ? admin.password : next, new_password: next },
          headers,
        )
        headers = cookieOf(answer)
      }
      const refused = await change({ password: next, new_password: next }, headers)
      assert.deepEqual(codeOf(refused), [503, 'overloaded'])
      assert.equal(refused.headers['retry-after'], '600')
    })
    assert.equal(lines.length, PASSWORD_CHANGES_MAX)
    clock.advance(600_000)
    assert.equal((await change({ password: next, new_password: next }, headers)).status, 200)
  })
})
