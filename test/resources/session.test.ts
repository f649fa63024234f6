import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX } from '../../src/auth/password.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { runCommand } from '../support/command.ts'
import { holdClock } from '../support/held-clock.ts'
import { type Answer, createClient, faultyFields } from '../support/http-client.ts'
import { holdArgon2 } from '../support/light-argon2.ts'
import { admin, client, start, type TestService, usedFolder } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { startedFolder } from '../support/started-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const { username, password } = admin
const wrong = 'incorrect horse'
const list = '/configurations/'

/** The `Set-Cookie` value that has a client forget a cookie. */
const clearing = (cookie: string) =>
  `${cookie.split('=', 1)[0]}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`

const cookieOf = (answer: Answer) => answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''

async function isLetIn(service: TestService, headers: Record<string, string>): Promise<boolean> {
  const { status } = await createClient(service.url)('GET', list, { headers })
  assert.ok(status === 200 || status === 403)
  return status === 200
}

describe('POST /login', async () => {
  const service = await start({ after })
  const ask = createClient(service.url)

  const pairs: [body: unknown, status: 200 | 401][] = [
    [{ username, password }, 200],
    [{ name: username, password }, 200],
    [{ username, name: username, password }, 200],
    [{ username, password, remember: true, id: 1 }, 200],
    [JSON.stringify({ username, password }), 200],
    [{ username, password: wrong }, 401],
    [{ username, password: '' }, 401],
    [{ username, password: `${password} ` }, 401],
    [{ username: 'nobody', password }, 401],
    [{ username: username.toUpperCase(), password }, 401],
    [{ username: '', password }, 401],
    [{ username: '__proto__', password }, 401],
    [{ username: '\ud800', password: '\udc00' }, 401],
    [{ username: 'script', password: 'battery staple lamp' }, 401],
  ]
  for (const [body, status] of pairs) {
    it(`${JSON.stringify(body)}: ${status}`, async () => {
      const answer = await ask('POST', '/login', { body })
      assert.equal(answer.status, status)
      assert.equal(answer.text, status === 200 ? 'Authorized' : 'Unauthorized')
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
      assert.equal(answer.headers['content-length'], String(answer.text.length))
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['set-cookie']?.length, status === 200 ? 1 : undefined)
      const challenge = status === 401 ? 'Bearer realm="connbook"' : undefined
      assert.equal(answer.headers['www-authenticate'], challenge)
    })
  }

  it('takes a password as it is, also one that could not be chosen any more', async (t) => {
    const old = { name: 'old', secret: '\ufeff \u200bold\r\n' }
    const folder = await startedFolder(t, old, { name: client.client_id, secret: client.client_secret })
    const { url } = await start(t, { folder, environment: {} })
    for (const [text, status] of [
      [old.secret, 200],
      [old.secret.trim(), 401],
      ['old', 401],
    ] as const) {
      const body = { username: old.name, password: text }
      assert.equal((await createClient(url)('POST', '/login', { body })).status, status)
    }
  })

  const faulty: [body: unknown, fields: string[]][] = [
    [{}, ['username', 'password']],
    [{ username }, ['password']],
    [{ password }, ['username']],
    [{ user: username, password }, ['username']],
    [{ username: 1, password }, ['username']],
    [{ name: null, password }, ['name']],
    [{ username, password: null }, ['password']],
    [{ username, password: 12345 }, ['password']],
    [{ username: [username], password: { password } }, ['username', 'password']],
    [{ username, name: 'other', password }, ['name']],
    [{ username, name: 1, password }, ['name', 'name']],
    [`{"__proto__": ${JSON.stringify(admin)}}`, ['username', 'password']],
  ]
  for (const [body, fields] of faulty) {
    it(`${JSON.stringify(body)}: 400 for ${fields}`, async () => {
      const answer = await ask('POST', '/login', { body })
      assert.equal(answer.status, 400)
      assert.equal(answer.headers['content-type'], 'application/problem+json')
      assert.deepEqual(faultyFields(answer), fields)
      assert.equal(answer.headers['set-cookie'], undefined)
      assert.ok(!answer.text.includes(password))
    })
  }

  it('sets a cookie that gives full access, until it expires or logs out', async () => {
    const answer = await ask('POST', '/login', { body: admin })
    const [cookie = ''] = answer.headers['set-cookie'] ?? []
    const twelveHours = 12 * 60 * 60
    assert.match(
      cookie,
      new RegExp(
        `^connbook_session_[0-9a-f]{8}=[\\w.-]+; HttpOnly; SameSite=Strict; Path=/; Max-Age=${twelveHours}$`,
      ),
    )
    assert.ok(await isLetIn(service, { Cookie: cookieOf(answer) }))
  })

  it('is open to a caller with a bad credential', async () => {
    const headers = { Authorization: 'Bearer x', Cookie: 'connbook_session=x' }
    assert.equal((await ask('POST', '/login', { headers, body: admin })).status, 200)
  })

  it('is closed to pages of other sites, which could make their visitors try passwords', async () => {
    for (const path of ['/login', '/v1/auth/token']) {
      const answer = await ask('POST', path, { headers: { Origin: 'http://evil' }, body: admin })
      assert.equal(answer.status, 403)
      assert.match(answer.text, /A page of another site made this request/)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
  })

  it('gives each login a session of its own', async () => {
    const [first, second] = [await service.cookie(), await service.cookie()]
    assert.notEqual(first, second)
    await ask('POST', '/logout', { headers: { Cookie: first } })
    assert.deepEqual(
      [await isLetIn(service, { Cookie: first }), await isLetIn(service, { Cookie: second })],
      [false, true],
    )
  })
})

describe('failed logins', () => {
  it('pause the account for that address after a few free attempts, even for the right password', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const clock = holdClock()
    const ask = createClient((await start(t, { clock })).url)
    const logIn = async (secret: string) =>
      (await ask('POST', '/login', { body: { username, password: secret } })).status
    const fail = async (count: number) => {
      for (let i = 0; i < count; i++) assert.equal(await logIn(wrong), 401)
    }

    await fail(FREE_FAILURES - 1)
    assert.equal(await logIn(password), 200)
    await fail(FREE_FAILURES)
    const refused = await ask('POST', '/login', { body: admin })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['content-type'], 'application/problem+json')
    assert.equal(refused.headers['set-cookie'], undefined)
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(Number.isInteger(seconds) && seconds > 0)
    assert.equal((await ask('POST', '/login', { body: { username: 'other', password } })).status, 401)

    clock.advance(seconds * 1000 - 1)
    assert.equal(await logIn(password), 429)
    clock.advance(1)
    assert.equal(await logIn(password), 200)
  })

  it('in a flood are queued, then refused, and slow nobody else down', async (t) => {
    const service = await start(t)
    const ask = createClient(service.url)
    const headers = { Authorization: await service.bearer() }
    skipPauses(t, REFUSAL_PAUSE_MS)
    const release = holdArgon2(t)
    const flood = Array.from({ length: PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX + 20 }, (_, i) =>
      ask('POST', '/login', { body: { username: `user ${i}`, password } }),
    )
    assert.equal((await ask('GET', list, { headers })).status, 200)
    assert.equal((await Promise.race(flood)).status, 503)
    release()
    const putOff = (await Promise.all(flood)).filter(({ status }) => status !== 401)
    assert.ok(putOff.length > 0 && putOff.length < flood.length)
    for (const { status, headers } of putOff) {
      assert.equal(status, 503)
      assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
    }
  })
})

describe('POST /logout', async () => {
  const service = await start({ after })
  const ask = createClient(service.url)

  it('ends the session that a cookie carries and clears the cookie', async () => {
    const Cookie = await service.cookie()
    const answer = await ask('POST', '/logout', { headers: { Cookie } })
    assert.deepEqual([answer.status, answer.text], [200, 'Success'])
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
    assert.deepEqual(answer.headers['set-cookie'], [clearing(Cookie)])
    assert.equal(await isLetIn(service, { Cookie }), false)
    assert.equal((await ask('POST', '/logout', { headers: { Cookie } })).status, 403)
  })

  it('ends a session under the name of earlier versions', async () => {
    const [, session] = (await service.cookie()).split('=', 2)
    const Cookie = `connbook_session=${session}`
    assert.equal(await isLetIn(service, { Cookie }), true)
    const answer = await ask('POST', '/logout', { headers: { Cookie } })
    assert.deepEqual(answer.headers['set-cookie'], [clearing(Cookie), clearing(await service.cookie())])
    assert.equal(await isLetIn(service, { Cookie }), false)
  })

  it('clears its own name last, for clients that forget only the last cookie of an answer', async () => {
    const own = await service.cookie()
    const earlier = 'connbook_session=left from an upgrade'
    const answer = await ask('POST', '/logout', { headers: { Cookie: `${own}; ${earlier}` } })
    assert.deepEqual(answer.headers['set-cookie'], [clearing(earlier), clearing(own)])
  })

  it('ends the bearer token that made the call and leaves the cookie alone', async () => {
    const [Authorization, Cookie] = [await service.bearer(), await service.cookie()]
    const answer = await ask('POST', '/logout', { headers: { Authorization, Cookie } })
    assert.deepEqual([answer.status, answer.text], [200, 'Success'])
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.equal(await isLetIn(service, { Authorization }), false)
    assert.equal(await isLetIn(service, { Cookie }), true)
  })

  it('ignores its body', async () => {
    const bodies = ['', '{', 'x'.repeat(1000)]
    for (const body of bodies) {
      const headers = { Cookie: await service.cookie(), 'Content-Type': 'image/png' }
      assert.equal((await ask('POST', '/logout', { headers, body })).status, 200)
    }
  })
})

describe('a restart', () => {
  it('keeps valid sessions valid and ended sessions ended', async (t) => {
    const folder = await usedFolder(t)
    const first = await start(t, { folder })
    const kept = [{ Cookie: await first.cookie() }, { Authorization: await first.bearer() }]
    const ended = [{ Cookie: await first.cookie() }, { Authorization: await first.bearer() }]
    for (const headers of ended) await createClient(first.url)('POST', '/logout', { headers })
    await first.stop()

    const second = await start(t, { folder })
    for (const headers of kept) assert.equal(await isLetIn(second, headers), true)
    for (const headers of ended) assert.equal(await isLetIn(second, headers), false)
  })

  it('does not lengthen a session or a token', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock()
    const first = await start(t, { folder, clock, flags: ['--session-ttl', '2h', '--token-ttl', '90s'] })
    const login = await createClient(first.url)('POST', '/login', { body: admin })
    assert.match(login.headers['set-cookie']?.[0] ?? '', /; Max-Age=7200$/)
    const session = { Cookie: cookieOf(login) }
    const token = { Authorization: await first.bearer() }
    clock.advance(89_999)
    assert.deepEqual([await isLetIn(first, session), await isLetIn(first, token)], [true, true])
    await first.stop()

    const second = await start(t, { folder, clock })
    clock.advance(1)
    assert.deepEqual([await isLetIn(second, session), await isLetIn(second, token)], [true, false])
    clock.advance(2 * 60 * 60 * 1000 - 90_001)
    assert.equal(await isLetIn(second, session), true)
    clock.advance(1)
    assert.equal(await isLetIn(second, session), false)
  })
})

describe('the servers of one host', () => {
  /** What a browser keeps: by name, whatever the port. */
  function createJar() {
    const kept = new Map<string, string>()
    const take = (answer: Answer) => {
      for (const line of answer.headers['set-cookie'] ?? []) {
        const [name = '', value = ''] = line.split(';', 1)[0]?.split('=', 2) ?? []
        kept.set(name, value)
      }
    }
    const call = async (service: TestService, method: string, path: string, body?: unknown) => {
      const Cookie = [...kept].map((pair) => pair.join('=')).join('; ')
      const answer = await createClient(service.url)(method, path, { headers: { Cookie }, body })
      take(answer)
      return answer.status
    }
    return { call }
  }

  it('keep their sessions apart in one browser', async (t) => {
    const [one, other] = [await start(t), await start(t)]
    const { call } = createJar()
    for (const service of [one, other]) assert.equal(await call(service, 'POST', '/login', admin), 200)
    for (const service of [one, other]) assert.equal(await call(service, 'GET', list), 200)
    assert.equal(await call(other, 'POST', '/logout'), 200)
    assert.deepEqual([await call(one, 'GET', list), await call(other, 'GET', list)], [200, 403])
  })

  it('have the same cookie after a restart, and another one after a restore', async (t) => {
    const folder = await usedFolder(t)
    const nameOf = async () => {
      const service = await start(t, { folder, environment: {} })
      const name = (await service.cookie()).split('=', 1)[0]
      await service.stop()
      return name
    }
    const first = await nameOf()
    assert.equal(await nameOf(), first)
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runCommand(['backup', backup, '--data', folder])).code, 0)
    assert.equal((await runCommand(['restore', backup, '--data', folder])).code, 0)
    assert.notEqual(await nameOf(), first)
  })
})
