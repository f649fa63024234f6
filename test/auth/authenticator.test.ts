import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addAccount, changeSecret, removeAccount } from '../../src/auth/accounts.ts'
import {
  PASSWORD_CHANGES_MAX,
  PASSWORD_CHANGES_WINDOW_MS,
  PasswordChanges,
  readOwner,
} from '../../src/auth/authenticator.ts'
import { hashPassword } from '../../src/auth/password.ts'
import { createSigningKey, verifyToken } from '../../src/auth/signed-token.ts'
import { VERIFIED_TOKENS_MAX } from '../../src/auth/token-verifier.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { systemAccount } from '../../src/system-account.ts'
import { eventually } from '../support/eventually.ts'
import { holdClock } from '../support/held-clock.ts'
import { caller } from '../support/message.ts'
import {
  asBearer,
  asCookie,
  COOKIE,
  client,
  keys,
  SESSION_TTL_SECONDS,
  setUpAuthenticator,
  TOKEN_TTL_SECONDS,
  unchanging,
  user,
} from './authenticator-setup.ts'

describe('authenticate', () => {
  it('accepts a user by cookie and a client by bearer', async (t) => {
    const { authenticator, clock, logIn, getToken } = await setUpAuthenticator(t)
    assert.deepEqual(authenticator.authenticate(asCookie(await logIn())), {
      carrier: 'cookie',
      principal: { kind: 'user', name: user.name, scope: 'read write' },
      expiresAt: clock.wall / 1000 + SESSION_TTL_SECONDS,
    })
    assert.deepEqual(authenticator.authenticate(asBearer(await getToken())), {
      carrier: 'bearer',
      principal: { kind: 'client', name: client.name, scope: 'read write' },
      expiresAt: clock.wall / 1000 + TOKEN_TTL_SECONDS,
    })
  })

  it('says the same without the credential', async (t) => {
    const { authenticator, logIn, getToken } = await setUpAuthenticator(t)
    const [session, token] = [asCookie(await logIn()), asBearer(await getToken())]
    const spoilt = (text: string | undefined) => text?.slice(0, -4) ?? ''
    const headersOf = [
      session.headers,
      token.headers,
      {},
      { cookie: spoilt(session.headers.cookie) },
      { authorization: spoilt(token.headers.authorization) },
      { ...session.headers, authorization: 'Bearer ' },
      { ...session.headers, authorization: session.headers.cookie?.replace(/^.*?=/, 'Bearer ') ?? '' },
    ]
    const answers = headersOf.map((headers) => {
      const request = { ...session, headers }
      assert.equal(authenticator.principalNow(request), authenticator.authenticate(request)?.principal)
      return authenticator.principalNow(request)?.scope
    })
    const [none, both] = [undefined, 'read write']
    assert.deepEqual(answers, [both, both, none, none, none, none, none])
    const ofOwner = { ...session, headers: {}, isOwner: true }
    const owner = authenticator.authenticate(ofOwner)?.principal
    assert.equal(owner?.scope, 'read write admin')
    assert.equal(authenticator.principalNow({ ...ofOwner, ...(owner && { principal: owner }) }), owner)
    assert.equal(authenticator.principalNow({ ...ofOwner, headers: { authorization: 'Bearer x' } }), none)
    await authenticator.logOut(session)
    assert.deepEqual(
      [session, token].map((one) => authenticator.principalNow(one)?.scope),
      [none, both],
    )
  })

  const scopes = [
    ['a session that says nothing', undefined, undefined, 'read write'],
    ['a session for both', undefined, 'read write', 'read write'],
    ['a session of an account that was read-only', undefined, 'read', 'read write'],
    ['a session that says nothing, of a read-only account', 'read', undefined, 'read'],
    ['a session for both, of an admin', 'read write admin', 'read write', 'read write admin'],
    ['a session for both, of a read-only account', 'read', 'read write', 'read'],
    ['a session for reading, of a read-only account', 'read', 'read', 'read'],
  ] as const
  for (const [what, ofAccount, ofToken, expected] of scopes) {
    it(`gives "${expected}" to ${what}, at first and when remembered`, async (t) => {
      const { authenticator, change, sign } = await setUpAuthenticator(t)
      await change((accounts) => addAccount(accounts, 'user', 'eve', 'sha256:', ofAccount))
      const claims = { sub: 'eve', gen: 4, ...(ofToken === undefined ? {} : { scope: ofToken }) }
      const request = asCookie(sign(claims))
      for (let i = 0; i < 2; i += 1)
        assert.equal(authenticator.authenticate(request)?.principal.scope, expected)
    })
  }

  it('gives a session the scope of its account, and writes it into the token', async (t) => {
    const { authenticator, change } = await setUpAuthenticator(t)
    const hash = await hashPassword('look only')
    await change((accounts) => addAccount(accounts, 'user', 'eve', hash, 'read'))
    const [cookie = ''] = (await authenticator.logIn(caller, 'eve', 'look only'))?.split(';') ?? []
    assert.equal(verifyToken(cookie.slice(cookie.indexOf('=') + 1), keys)?.scope, 'read')
    const principal = { kind: 'user', name: 'eve', scope: 'read' }
    assert.deepEqual(
      authenticator.authenticate({ ...asCookie(''), headers: { cookie } })?.principal,
      principal,
    )
  })

  it('does not remember a scope that the account has lost', async (t) => {
    const { authenticator, change, isIn, logIn } = await setUpAuthenticator(t)
    const request = asCookie(await logIn())
    assert.equal(authenticator.authenticate(request)?.principal.scope, 'read write')
    await change((accounts) => ({
      ...accounts,
      users: accounts.users.map((account) => ({ ...account, scope: 'read' })),
    }))
    assert.equal(authenticator.authenticate(request)?.principal.scope, 'read')
    await change((accounts) =>
      addAccount(removeAccount(accounts, 'user', user.name), 'user', user.name, 'sha256:', 'read'),
    )
    assert.equal(isIn(request), false)
  })

  it('never accepts one kind of credential as the other', async (t) => {
    const { isIn, logIn, getToken } = await setUpAuthenticator(t)
    const [session, token] = [await logIn(), await getToken()]
    // In both orders: nor may a remembered token change its kind.
    for (let i = 0; i < 2; i += 1) {
      assert.equal(isIn(asBearer(session)), false)
      assert.equal(isIn(asCookie(token)), false)
      assert.equal(isIn(asCookie(session)), true)
      assert.equal(isIn(asBearer(token)), true)
    }
  })

  it('ignores the cookie if there is an Authorization header', async (t) => {
    const { isIn, logIn, getToken } = await setUpAuthenticator(t)
    const { cookie } = asCookie(await logIn()).headers
    const { authorization } = asBearer(await getToken()).headers
    for (const bad of ['', 'Bearer', 'Bearer bad', 'Basic YTpi', `Bearer ${authorization}`]) {
      assert.equal(isIn({ headers: { cookie, authorization: bad } }), false, bad)
    }
    assert.equal(isIn({ headers: { cookie: `${COOKIE}=bad`, authorization } }), true)
    assert.equal(isIn({ headers: {} }), false)
  })

  it('accepts the scheme in any letter case', async (t) => {
    const { isIn, getToken } = await setUpAuthenticator(t)
    const token = await getToken()
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      assert.equal(isIn({ headers: { authorization: `${scheme} ${token}` } }), true)
    }
  })

  it('refuses a correctly signed token of another issuer, account or generation', async (t) => {
    const { isIn, sign } = await setUpAuthenticator(t)
    assert.equal(isIn(asCookie(sign({}))), true)
    for (const claims of [
      { iss: 'other' },
      { sub: 'nobody' },
      { sub: client.name },
      { gen: 0 },
      { gen: 99 },
    ]) {
      assert.equal(isIn(asCookie(sign(claims))), false, JSON.stringify(claims))
    }
  })

  const lifetimes = [
    ['session', SESSION_TTL_SECONDS],
    ['token', TOKEN_TTL_SECONDS],
  ] as const
  for (const [what, ttlSeconds] of lifetimes) {
    for (const isRemembered of [true, false]) {
      it(`refuses a ${what} once it has expired, ${isRemembered ? 'remembered' : 'seen once'}`, async (t) => {
        const { clock, isIn, logIn, getToken } = await setUpAuthenticator(t)
        const request = what === 'session' ? asCookie(await logIn()) : asBearer(await getToken())
        clock.advance(ttlSeconds * 1000 - 1)
        if (isRemembered) assert.equal(isIn(request), true)
        clock.advance(1)
        assert.equal(isIn(request), false)
        clock.wall -= 2 * ttlSeconds * 1000
        assert.equal(isIn(request), false)
      })
    }
  }

  it('never revives an expired credential that it has refused, after a kill and with the clock set back', async (t) => {
    const { clock, isIn, logIn, reopen, revocationsFile } = await setUpAuthenticator(t)
    const request = asCookie(await logIn())
    clock.advance(SESSION_TTL_SECONDS * 1000)
    assert.equal(isIn(request), false)
    await eventually('it is on disk', async () =>
      (await revocationsFile()).includes(`{"passed":${clock.wall}}`),
    )
    clock.wall -= SESSION_TTL_SECONDS * 1000
    assert.equal((await reopen({ isKilled: true })).authenticate(request), undefined)
  })

  const ends: Record<string, Parameters<Awaited<ReturnType<typeof setUpAuthenticator>>['change']>[0]> = {
    'its password was changed': async (accounts) =>
      changeSecret(accounts, 'user', user.name, await hashPassword('another')),
    'it was removed': (accounts) => removeAccount(accounts, 'user', user.name),
    'it was removed and made anew': async (accounts) =>
      addAccount(
        removeAccount(accounts, 'user', user.name),
        'user',
        user.name,
        await hashPassword(user.secret),
      ),
  }
  for (const [what, edit] of Object.entries(ends)) {
    it(`ends every session of an account when ${what}, and nobody else's`, async (t) => {
      const { change, isIn, logIn, getToken, sign } = await setUpAuthenticator(t)
      const sessions = [await logIn(), await logIn()].map(asCookie)
      const others = [asCookie(sign({ sub: 'other', gen: 3 })), asBearer(await getToken())]
      const seenNever = asCookie(await logIn())
      for (const request of [...sessions, ...others]) assert.equal(isIn(request), true)
      await change(edit)
      for (const request of [...sessions, seenNever]) assert.equal(isIn(request), false)
      for (const request of others) assert.equal(isIn(request), true)
    })
  }

  it('accepts tokens of an older key as long as the key exists', async (t) => {
    const first = await setUpAuthenticator(t)
    const session = asCookie(await first.logIn())
    const newKey = createSigningKey('new', Buffer.alloc(32, 2))
    const withBoth = first.make({ keys: unchanging([newKey, ...keys]) })
    assert.ok(withBoth.authenticate(session))
    assert.equal(first.make({ keys: unchanging([newKey]) }).authenticate(session), undefined)
    const [newSession = ''] = (await withBoth.logIn(caller, user.name, user.secret))?.split(';') ?? []
    assert.equal(first.isIn({ headers: { cookie: newSession } }), false)
  })

  it('forgets tokens when their key goes, and signs with a new key at once', async (t) => {
    const { lookUps, logIn, make } = await setUpAuthenticator(t)
    const newKey = createSigningKey('new', Buffer.alloc(32, 2))
    const session = asCookie(await logIn())
    const live = { ...unchanging(keys) }
    const authenticator = make({ keys: live })
    const isIn = () => authenticator.authenticate(session) !== undefined
    assert.equal(isIn(), true)
    const before = lookUps()
    assert.equal(isIn(), true)
    assert.equal(lookUps(), before, 'the token is not remembered')
    Object.assign(live, unchanging([newKey, ...keys]))
    assert.equal(isIn(), true)
    const [cookie = ''] = (await authenticator.logIn(caller, user.name, user.secret))?.split(';', 1) ?? []
    assert.ok(cookie.includes(newKey.header))
    Object.assign(live, unchanging([newKey]))
    assert.equal(isIn(), false)
    assert.ok(authenticator.authenticate(asCookie(cookie.replace(`${COOKIE}=`, ''))))
  })

  it('remembers a bounded number of tokens', async (t) => {
    const { isIn, lookUps, sign } = await setUpAuthenticator(t)
    const isRemembered = (token: string) => {
      const before = lookUps()
      assert.equal(isIn(asCookie(token)), true)
      return lookUps() === before
    }
    const tokens = Array.from({ length: VERIFIED_TOKENS_MAX }, (_, i) => sign({ jti: `${i}` }))
    for (const token of tokens) isIn(asCookie(token))
    const [first = '', second = ''] = tokens
    assert.equal(isRemembered(first), true)
    isIn(asCookie(sign({ jti: 'one too many' })))
    assert.equal(isRemembered(second), true)
    assert.equal(isRemembered(first), false)
  })

  it('does not remember refused tokens', async (t) => {
    const { change, isIn, sign } = await setUpAuthenticator(t)
    const early = asCookie(sign({ sub: 'early', gen: 4 }))
    assert.equal(isIn(early), false)
    await change(async (accounts) => addAccount(accounts, 'user', 'early', await hashPassword('e')))
    assert.equal(isIn(early), true)
  })
})

describe('logOut', () => {
  it('ends only the credential that made the call, for good', async (t) => {
    const { authenticator, isIn, logIn, getToken, reopen } = await setUpAuthenticator(t)
    const [session, otherSession] = [asCookie(await logIn()), asCookie(await logIn())]
    const [token, otherToken] = [asBearer(await getToken()), asBearer(await getToken())]
    for (const request of [session, otherSession, token, otherToken]) assert.equal(isIn(request), true)
    const cleared = await authenticator.logOut(session)
    assert.deepEqual(
      cleared.map((cookie) => /^(\w+)=; .*Max-Age=0$/.exec(cookie)?.[1]),
      [COOKIE],
    )
    assert.deepEqual(await authenticator.logOut(token), [])
    const again = await reopen()
    for (const each of [authenticator, again]) {
      assert.equal(each.authenticate(session), undefined)
      assert.equal(each.authenticate(token), undefined)
      assert.ok(each.authenticate(otherSession))
      assert.ok(each.authenticate(otherToken))
    }
  })

  it('ends nothing for somebody without a credential', async (t) => {
    const { authenticator, log } = await setUpAuthenticator(t)
    assert.deepEqual(await authenticator.logOut(asCookie('bad')), [])
    assert.deepEqual(log.events, [])
  })
})

describe('the session cookie', () => {
  const rows = [
    ['/', false, '', 'Path=/'],
    ['/base', false, '', 'Path=/base'],
    ['/', true, '__Host-', 'Path=/'],
    ['/base', true, '__Secure-', 'Path=/base'],
  ] as const
  for (const [path, isSecure, prefix, attribute] of rows) {
    const name = prefix + COOKIE
    it(`is ${name} for ${path} ${isSecure ? 'with' : 'without'} TLS`, async (t) => {
      const { make } = await setUpAuthenticator(t)
      const authenticator = make({ path })
      const [pair = '', ...attributes] =
        (await authenticator.logIn({ ...caller, isSecure }, user.name, user.secret))?.split('; ') ?? []
      assert.ok(pair.startsWith(`${name}=`))
      const expected = ['HttpOnly', 'SameSite=Strict', attribute, `Max-Age=${SESSION_TTL_SECONDS}`]
      assert.deepEqual(attributes, isSecure ? [...expected, 'Secure'] : expected)
      assert.ok(
        authenticator.authenticate({ ...asCookie(''), isSecure, headers: { cookie: `a=b; ${pair}` } }),
      )
    })
  }

  it('is found beside others of its name, which a page of a sibling site can set', async (t) => {
    const { authenticator, isIn, logIn, sign } = await setUpAuthenticator(t)
    const session = await logIn()
    const headerOf = (...values: string[]) => ({
      headers: { cookie: values.map((value) => `${COOKIE}=${value}`).join('; ') },
    })
    const bad = ['', 'x', sign({ exp: 1 }), session.slice(0, -1), sign({ gen: 99 }), 'x', 'x']
    for (let count = 0; count <= bad.length; count++)
      assert.equal(isIn(headerOf(...bad.slice(0, count), session)), true, `${count}`)
    assert.equal(isIn(headerOf(...bad, 'x', session)), false)
    assert.equal(isIn(headerOf(...bad)), false)
    assert.equal((await authenticator.logOut({ ...asCookie(''), ...headerOf('x', session) })).length, 1)
    assert.equal(isIn(headerOf('x', session)), false)
  })

  it('is named by the store, so that the servers of one host do not share it', async (t) => {
    const { make } = await setUpAuthenticator(t)
    const nameAt = async (store: string) =>
      (await make({ store }).logIn(caller, user.name, user.secret))?.split('=', 1)[0] ?? ''
    assert.notEqual(await nameAt('a'), await nameAt('b'))
    assert.equal(await nameAt('a'), await nameAt('a'))
  })

  it('is found under the name of earlier versions, too, beside those of its own name', async (t) => {
    const { isIn, logIn } = await setUpAuthenticator(t)
    const old = `connbook_session=${await logIn()}`
    assert.equal(isIn({ headers: { cookie: old } }), true)
    const others = Array.from({ length: 7 }, (_, i) => `${COOKIE}=${i}`)
    assert.equal(isIn({ headers: { cookie: [...others, old].join('; ') } }), true)
  })

  it('is ignored under another name', async (t) => {
    const { isIn, logIn } = await setUpAuthenticator(t)
    const session = await logIn()
    for (const name of [`__Host-${COOKIE}`, 'Connbook_session', 'session', 'connbook_session_00000000']) {
      assert.equal(isIn({ headers: { cookie: `${name}=${session}` } }), false)
    }
  })
})

it('changes no password with a session whose key was revoked while the password was checked', async (t) => {
  const { make, logIn } = await setUpAuthenticator(t)
  const [signing] = keys
  let verifying: readonly (typeof signing)[] = keys
  const authenticator = make({
    keys: {
      signing,
      get verifying() {
        return verifying
      },
    },
  })
  const changing = authenticator.changePassword(asCookie(await logIn()), user.secret, 'quite another one')
  verifying = []
  assert.equal(await changing, 'session_ended')
})

describe('changes of a password', () => {
  it('are limited for each user, until the time is over', () => {
    const clock = holdClock()
    const changes = new PasswordChanges(clock.make())
    for (let i = 0; i < PASSWORD_CHANGES_MAX; i++) changes.take('one')
    clock.advance(PASSWORD_CHANGES_WINDOW_MS - 1)
    const refusal = { code: 'overloaded', headers: { 'Retry-After': '1' } }
    assert.throws(() => changes.take('one'), refusal)
    changes.take('another')
    clock.advance(1)
    changes.take('one')
  })
})

const owner = (headers: Record<string, string>) => readOwner({ headers })

describe('readOwner', () => {
  it('reads the system account and the command that the caller names', () => {
    assert.deepEqual(owner({ 'connbook-account': 'j%C3%B6rg', 'connbook-command': 'user%20add' }), {
      kind: 'command',
      name: 'jörg',
      command: 'user add',
      scope: 'read write admin',
    })
  })

  it('names the account of the server, and no command, for a caller that names neither', () => {
    const { name, command } = owner({})
    assert.deepEqual([name, command], [systemAccount(), 'http'])
  })

  it('takes who used sudo as a claim, and drops what is not a name, or root', () => {
    const claimedBy = (text: string) => owner({ 'connbook-sudo-user': text }).claimed
    assert.equal(claimedBy('j%C3%B6rg'), 'jörg')
    for (const text of ['', 'root', '%', '%ff', 'a%0Ab', 'x'.repeat(256)])
      assert.equal(claimedBy(text), undefined, text)
  })

  it('refuses names that the audit trail could not show, and says which', () => {
    const bad = ['', '%ff', 'a%0Ab', 'a%00', 'x'.repeat(256)]
    for (const text of bad) {
      for (const field of ['connbook-account', 'connbook-command']) {
        assert.throws(
          () => owner({ [field]: text }),
          (error) => error instanceof InvalidInputError && error.faults[0]?.field === field,
          `${field}: ${text}`,
        )
      }
    }
  })
})
