import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account, AccountKind } from '../../src/auth/accounts.ts'
import type { Revocations } from '../../src/auth/ended-credentials.ts'
import { type Claims, createSigningKey, type SigningKey, signToken } from '../../src/auth/signed-token.ts'
import {
  TokenVerifier,
  VERIFIED_TOKENS_CHARACTERS_MAX,
  VERIFIED_TOKENS_MAX,
} from '../../src/auth/token-verifier.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { holdClock } from '../support/held-clock.ts'

const key = createSigningKey('k1', Buffer.alloc(32, 1))
const olderKey = createSigningKey('k0', Buffer.alloc(32, 2))

/** A verifier for one account `admin` of generation 1, a user and a client. */
function setUp() {
  const clock = holdClock()
  const now = Math.floor(clock.wall / 1000)
  const account: { current: Account | undefined } = {
    current: { name: 'admin', secret: 'sha256:', generation: 1 },
  }
  const keys: { verifying: readonly SigningKey[] } = { verifying: [key, olderKey] }
  const ended = new Set<string>()
  const expired: number[] = []
  const listeners: (() => void)[] = []
  let lookUps = 0
  const accounts = {
    find(_: AccountKind, name: string) {
      lookUps += 1
      return account.current?.name === name ? account.current : undefined
    },
    hasChosenClientSecret: false,
    onChange: (listener: () => void) => listeners.push(listener),
    close() {},
  }
  const revocations = {
    clock: clock.make(),
    has: (jti: string) => ended.has(jti),
    rememberExpired: (exp: number) => expired.push(exp),
  } as unknown as Revocations
  const tokens = new TokenVerifier(accounts, keys, revocations)
  const verify = (token: string, audience: Claims['aud']) => tokens.verify(token, audience)
  const sign = (claims: Partial<Claims> = {}, by = key) => {
    const usual = {
      iss: 'connbook',
      sub: 'admin',
      aud: 'api',
      iat: now,
      exp: now + 60,
      jti: 'j',
      gen: 1,
    } as const
    return signToken({ ...usual, ...claims }, by)
  }
  const isGood = (token: string, audience: Claims['aud'] = 'api') => verify(token, audience) !== undefined
  const change = (changed: Account | undefined) => {
    account.current = changed
    for (const listener of listeners) listener()
  }
  return { verify, sign, isGood, change, clock, now, keys, ended, expired, lookUps: () => lookUps }
}

describe('TokenVerifier', () => {
  it('returns the principal of a token: a user for a session, a client for the API', () => {
    const { verify, sign } = setUp()
    assert.deepEqual(verify(sign(), 'api')?.principal, { kind: 'client', name: 'admin', scope: 'read write' })
    assert.equal(verify(sign({ aud: 'session' }), 'session')?.principal.kind, 'user')
  })

  it('refuses another audience, issuer, account, generation or key, also the second time', () => {
    const { sign, isGood } = setUp()
    const stranger = createSigningKey('k1', Buffer.alloc(32, 9))
    const tokens = [sign({ iss: 'x' }), sign({ sub: 'x' }), sign({ gen: 2 }), sign({}, stranger), 'x']
    for (const token of [...tokens, ...tokens]) assert.equal(isGood(token), false)
    const good = sign()
    assert.deepEqual([isGood(good), isGood(good, 'session'), isGood(good)], [true, false, true])
  })

  it('returns the scope that token and account share', () => {
    const { verify, sign, change } = setUp()
    const scopeOf = (token: string) => verify(token, 'api')?.principal.scope
    assert.equal(scopeOf(sign({ scope: 'read' })), 'read')
    assert.equal(scopeOf(sign({ scope: 'read write' })), 'read write')
    change({ name: 'admin', secret: 'sha256:', generation: 1, scope: 'read' })
    assert.equal(scopeOf(sign({ scope: 'read write' })), 'read')
    assert.equal(scopeOf(sign()), 'read')
  })

  it('looks up an account once for each token, and again after a change of accounts', () => {
    const { sign, isGood, change, lookUps } = setUp()
    const token = sign()
    for (let i = 0; i < 3; i++) assert.ok(isGood(token))
    assert.equal(lookUps(), 1)
    change({ name: 'admin', secret: 'sha256:', generation: 2 })
    assert.deepEqual([isGood(token), lookUps()], [false, 2])
  })

  it('lets a token expire at its second, remembered or not, and records that time', () => {
    const { sign, isGood, clock, now, expired } = setUp()
    const token = sign()
    clock.advance(59_999)
    assert.deepEqual([isGood(token), expired], [true, []])
    clock.advance(1)
    assert.deepEqual([isGood(token), isGood(sign({ jti: 'other' }))], [false, false])
    assert.deepEqual(expired, [now + 60, now + 60])
  })

  it('refuses a token as soon as it has ended or its key has gone', () => {
    const { sign, isGood, keys, ended } = setUp()
    const [token, older] = [sign(), sign({ jti: 'older' }, olderKey)]
    assert.deepEqual([isGood(token), isGood(older)], [true, true])
    ended.add('j')
    assert.deepEqual([isGood(token), isGood(older)], [false, true])
    keys.verifying = [key]
    assert.equal(isGood(older), false)
  })

  it('remembers a bounded number of tokens, and forgets the oldest first', () => {
    const { sign, isGood, lookUps } = setUp()
    const tokens = Array.from({ length: VERIFIED_TOKENS_MAX + 1 }, (_, i) => sign({ jti: String(i) }))
    for (const token of tokens) assert.ok(isGood(token))
    const before = lookUps()
    for (const token of tokens.slice(1, 3)) assert.ok(isGood(token))
    assert.equal(lookUps(), before)
    assert.ok(isGood(tokens[0] ?? ''))
    assert.equal(lookUps(), before + 1)
  })

  it('remembers fewer long tokens, by their characters, of which those that it forgets do not count', () => {
    const { sign, isGood, change, ended, lookUps } = setUp()
    const name = '\u5b57'.repeat(ACCOUNT_NAME_CHARACTERS_MAX)
    const signLong = (jti: number) => sign({ sub: name, jti: String(jti) })
    const isRemembered = (token: string) => {
      const before = lookUps()
      assert.ok(isGood(token))
      return lookUps() === before
    }
    change({ name, secret: 'sha256:', generation: 1 })
    const { length } = signLong(10_000)
    const fitting = Math.floor(VERIFIED_TOKENS_CHARACTERS_MAX / length)
    assert.ok(fitting < VERIFIED_TOKENS_MAX / 2)
    const tokens = Array.from({ length: fitting }, (_, i) => signLong(10_000 + i))
    for (const token of tokens) assert.ok(isGood(token))
    // Accounts that change, and a token that ends, make room.
    change({ name, secret: 'sha256:', generation: 1 })
    for (const token of tokens) assert.ok(isGood(token))
    const [first = '', second = '', last = ''] = [...tokens.slice(0, 2), ...tokens.slice(-1)]
    ended.add('10001')
    assert.equal(isGood(second), false)
    assert.equal(isRemembered(signLong(20_000)), false)
    assert.equal(isRemembered(first), true)
    assert.equal(isRemembered(signLong(20_001)), false)
    assert.equal(isRemembered(last), true)
    assert.equal(isRemembered(first), false)
  })
})
