import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Claims, createSigningKey, signToken, verifyToken } from '../../src/auth/signed-token.ts'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const secret = Buffer.alloc(32, 7)
const key = createSigningKey('k1', secret)
const otherKey = createSigningKey('k2', Buffer.alloc(32, 9))
const claims: Claims = {
  iss: 'connbook',
  sub: 'admin',
  aud: 'session',
  iat: 1000,
  exp: 2000,
  jti: 'j',
  gen: 1,
}

const token = signToken(claims, key)
const [header = '', payload = '', mac = ''] = token.split('.')

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A token forged with the key: any header and payload, and a right MAC. */
function forge(head: unknown, body: unknown): string {
  const signed = `${encode(head)}.${encode(body)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** Another encoding of the same bytes: the last of 43 characters carries two bits that decoders drop. */
function respellEnd(text: string): string {
  const last = BASE64URL.indexOf(text.at(-1) ?? '')
  return text.slice(0, -1) + BASE64URL[last ^ 1]
}

/** A token whose MAC holds a character that standard base64 writes differently. */
function tokenInStandardBase64(): string {
  for (let gen = 1; ; gen += 1) {
    const [head, body, end = ''] = signToken({ ...claims, gen }, key).split('.')
    if (/[-_]/.test(end)) return [head, body, end.replaceAll('-', '+').replaceAll('_', '/')].join('.')
  }
}

describe('signToken', () => {
  it('makes a JWT that any implementation of HS256 verifies', () => {
    assert.equal(token, forge({ alg: 'HS256', typ: 'JWT', kid: 'k1' }, claims))
  })

  it('returns a token that verifyToken accepts', () => {
    assert.deepEqual(verifyToken(token, [key]), claims)
    for (const scope of ['read', 'read write'] as const) {
      const limited: Claims = { ...claims, scope }
      assert.deepEqual(verifyToken(signToken(limited, key), [key]), limited)
    }
  })
})

describe('verifyToken', () => {
  const refused: Record<string, string> = {
    nothing: '',
    'one part': 'a',
    'two parts': `${header}.${mac}`,
    'no MAC': `${header}.${payload}.`,
    'no MAC and no dot': `${header}.${payload}`,
    'four parts': `${token}.${mac}`,
    'alg none, without a MAC': `${encode({ alg: 'none', typ: 'JWT', kid: 'k1' })}.${payload}.`,
    'alg none, with a good MAC': forge({ alg: 'none', typ: 'JWT', kid: 'k1' }, claims),
    'alg HS512': forge({ alg: 'HS512', typ: 'JWT', kid: 'k1' }, claims),
    'members of the header in another order': forge({ typ: 'JWT', alg: 'HS256', kid: 'k1' }, claims),
    'a header with spaces': forge('{"alg":"HS256", "typ":"JWT","kid":"k1"}', claims),
    'a header without a key id': forge({ alg: 'HS256', typ: 'JWT' }, claims),
    'an unknown key id': forge({ alg: 'HS256', typ: 'JWT', kid: 'k3' }, claims),
    "another key's id over this key's MAC": forge({ alg: 'HS256', typ: 'JWT', kid: 'k2' }, claims),
    "another key's header before this key's token": `${otherKey.header}.${payload}.${mac}`,
    'a padded header': `${header}=.${payload}.${mac}`,
    'another payload': `${header}.${encode({ ...claims, sub: 'root' })}.${mac}`,
    'a padded payload': `${header}.${payload}=.${mac}`,
    'another last character of the payload': `${header}.${respellEnd(payload)}.${mac}`,
    'a cut MAC': token.slice(0, -1),
    'an extended MAC': `${token}A`,
    'a padded MAC': `${token}=`,
    'another encoding of the MAC': `${header}.${payload}.${respellEnd(mac)}`,
    'a MAC in standard base64': tokenInStandardBase64(),
    'a MAC in hex': `${header}.${payload}.${Buffer.from(mac, 'base64url').toString('hex')}`,
    'another first character of the MAC': `${header}.${payload}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`,
    'a space after it': `${token} `,
    'a newline before it': `\n${token}`,
  }
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.notEqual(text, token)
      assert.equal(verifyToken(text, [key, otherKey]), undefined)
    })
  }

  it('accepts a token of any of several keys', () => {
    for (const signing of [key, otherKey]) {
      assert.deepEqual(verifyToken(signToken(claims, signing), [otherKey, key]), claims)
    }
    assert.equal(verifyToken(token, [otherKey]), undefined)
    assert.equal(verifyToken(token, []), undefined)
  })

  const head = { alg: 'HS256', typ: 'JWT', kid: 'k1' }
  const wrongClaims: Record<string, readonly unknown[]> = {
    iss: [undefined, null, 1],
    sub: [undefined, null, 1, ['admin'], {}],
    aud: [undefined, null, 'Session', 'admin', ['session'], true],
    iat: [undefined, null, '1000'],
    exp: [undefined, null, '2000', true],
    jti: [undefined, null, 7],
    gen: [undefined, null, '1'],
    scope: [null, '', 'write', 'read ', 'Read', 'write read', 'admin', ['read'], true, {}],
  }
  for (const [claim, values] of Object.entries(wrongClaims)) {
    it(`refuses a signed "${claim}" that is missing or of another type`, () => {
      for (const value of values) {
        assert.equal(
          verifyToken(forge(head, { ...claims, [claim]: value }), [key]),
          undefined,
          JSON.stringify(value),
        )
      }
    })
  }

  it('refuses a signed payload that is not an object', () => {
    for (const body of ['', 'text', '{', 'null', '[]', '1', '"text"', '\u0000']) {
      assert.equal(verifyToken(forge(head, body), [key]), undefined, body)
    }
  })
})
