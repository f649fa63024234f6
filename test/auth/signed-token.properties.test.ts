import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type Claims, createSigningKey, signToken, verifyToken } from '../../src/auth/signed-token.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyEdit, anyText, applyEdit, joined, treacherousNames } from '../support/properties/texts.ts'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const ownSecret = Buffer.alloc(32, 7)
const key = createSigningKey('k1', ownSecret)
const olderKey = createSigningKey('k0', Buffer.alloc(32, 8))
const keys = [key, olderKey]

const seconds = fc.integer({ min: 0, max: 2 ** 40 })
const claims: fc.Arbitrary<Claims> = fc.record(
  {
    iss: fc.constantFrom('connbook', 'other'),
    sub: fc.oneof(anyText, fc.constantFrom('admin', ...treacherousNames)),
    aud: fc.constantFrom('session', 'api'),
    iat: seconds,
    exp: seconds,
    jti: anyText,
    gen: fc.nat(),
    scope: fc.constantFrom('read', 'read write'),
  },
  { requiredKeys: ['iss', 'sub', 'aud', 'iat', 'exp', 'jti', 'gen'], noNullPrototype: true },
)

/** A token of any header and payload, signed by RFC 7515 with the test's own HMAC. */
function sealed(header: string, payload: string, secret = ownSecret): string {
  const signed = `${header}.${Buffer.from(payload).toString('base64url')}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** Other encodings of the same bytes, and tokens with other parts. */
const rewritings: Record<string, (token: string) => string> = {
  padding: (token) => `${token}=`,
  'padded parts': (token) => token.split('.').join('=.'),
  'unused bits of the last character': (token) => {
    const last = BASE64URL.indexOf(token.at(-1) ?? '')
    return token.slice(0, -1) + BASE64URL[last ^ 1]
  },
  'plain base64': (token) => token.replaceAll('-', '+').replaceAll('_', '/'),
  'a space behind it': (token) => `${token} `,
  'a newline before it': (token) => `\n${token}`,
  'other letters': (token) => token.toLowerCase(),
  'no signature': (token) => token.slice(0, token.lastIndexOf('.') + 1),
  'no signature and no dot': (token) => token.slice(0, token.lastIndexOf('.')),
  'a part more': (token) => `${token}.`,
  'an empty part': (token) => token.replace('.', '..'),
  'parts in another order': (token) => token.split('.').reverse().join('.'),
  'alg none': (token) => {
    const header = Buffer.from('{"alg":"none","typ":"JWT","kid":"k1"}').toString('base64url')
    return [header, ...token.split('.').slice(1)].join('.')
  },
  'percent-encoding': (token) => token.replaceAll('.', '%2E'),
}

describe('a signed token', () => {
  it('yields the signed claims, whichever key signed', (t) => {
    holdFor(t, fc.tuple(claims, fc.constantFrom(...keys)), ([said, signing]) => {
      assert.deepEqual(verifyToken(signToken(said, signing), keys), said)
    })
  })

  it('is a standard JWT with a fixed header', (t) => {
    const header = Buffer.from('{"alg":"HS256","typ":"JWT","kid":"k1"}').toString('base64url')
    holdFor(t, claims, (said) => {
      const { iss, sub, aud, iat, exp, jti, gen, scope } = said
      const ordered = { iss, sub, aud, iat, exp, jti, gen, ...(scope === undefined ? {} : { scope }) }
      assert.equal(signToken(ordered, key), sealed(header, JSON.stringify(ordered)))
    })
  })

  it('is refused with any change, insertion, omission or truncation', (t) => {
    const character = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...BASE64URL, '.', '=') },
      { weight: 1, arbitrary: fc.constantFrom('+', '/', ' ', '\0', '\n', 'é', '\ud800', '\u0430') },
    )
    holdFor(t, fc.tuple(claims, anyEdit(character)), ([said, edit]) => {
      const token = signToken(said, key)
      const edited = applyEdit(token, edit)
      if (edited !== token) assert.equal(verifyToken(edited, keys), undefined, edited)
    })
  })

  it('is refused in any other encoding', (t) => {
    holdFor(t, fc.tuple(claims, fc.constantFrom(...Object.keys(rewritings))), ([said, name]) => {
      const token = signToken(said, key)
      const rewritten = rewritings[name]?.(token) ?? assert.fail(name)
      if (rewritten !== token) assert.equal(verifyToken(rewritten, keys), undefined, rewritten)
    })
  })

  it('is refused with a part of another token, or if its key is missing', (t) => {
    const strangers = [
      createSigningKey('k1', Buffer.alloc(32, 9)),
      createSigningKey('k2', ownSecret),
      createSigningKey('', ownSecret),
    ]
    const values = fc.tuple(claims, claims, fc.constantFrom(...strangers), fc.nat({ max: 2 }))
    holdFor(t, values, ([said, other, stranger, part]) => {
      assert.equal(verifyToken(signToken(said, stranger), keys), undefined)
      const token = signToken(said, key)
      const mixed = token.split('.')
      mixed[part] = signToken(other, olderKey).split('.')[part] ?? ''
      if (mixed.join('.') !== token) assert.equal(verifyToken(mixed.join('.'), keys), undefined)
    })
  })

  it('cannot be forged without the secret', (t) => {
    const pieces = [
      key.header,
      `${key.header}.`,
      olderKey.header,
      '.',
      '..',
      'e30',
      'eyJhbGciOiJub25lIn0',
      '=',
    ]
    const base64 = fc.string({ unit: fc.constantFrom(...BASE64URL), maxLength: 44 })
    const texts = joined(pieces, fc.oneof(anyText, base64))
    holdFor(t, texts, (text) => assert.equal(verifyToken(text, keys), undefined))
  })

  it('is refused with any other header than that of its key, even with a good signature', (t) => {
    const parameters = fc.record(
      {
        alg: fc.constantFrom<unknown>('HS256', 'none', 'hs256', 'HS512', null),
        typ: fc.constantFrom<unknown>('JWT', 'jwt', 'at+jwt'),
        kid: fc.constantFrom<unknown>('k1', 'k0', '', ['k1']),
        crit: fc.constantFrom<unknown>(['exp'], []),
      },
      { requiredKeys: [], noNullPrototype: true },
    )
    const headers = fc.oneof(
      parameters.map((some) => Buffer.from(JSON.stringify(some)).toString('base64url')),
      anyEdit(fc.constantFrom(...BASE64URL, '=', '')).map((edit) => applyEdit(key.header, edit)),
      fc.constantFrom('', '.', key.header),
    )
    holdFor(t, fc.tuple(claims, headers), ([said, header]) => {
      const found = verifyToken(sealed(header, JSON.stringify(said)), keys)
      assert.deepEqual(found, header === key.header ? said : undefined)
    })
  })

  it('yields nothing when the signed payload is not a set of claims', (t) => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom<unknown>('session', 'api', 'read', 'write', 'read write', 'write read', 1.5, -1, null),
    )
    const payloads = fc
      .tuple(
        claims,
        fc.array(
          fc.tuple(
            fc.constantFrom('iss', 'sub', 'aud', 'iat', 'exp', 'jti', 'gen', 'scope', 'scope', 'x'),
            odd,
          ),
          {
            maxLength: 3,
          },
        ),
      )
      .map(([said, changes]) => JSON.stringify({ ...said, ...Object.fromEntries(changes) }))
    const texts = fc.oneof(
      { weight: 6, arbitrary: payloads },
      {
        weight: 2,
        arbitrary: fc.tuple(payloads, anyEdit(anyText)).map(([text, edit]) => applyEdit(text, edit)),
      },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: anyText },
    )
    holdFor(t, texts, (payload) => {
      assert.deepEqual(verifyToken(sealed(key.header, payload), keys), expectedClaims(payload))
    })
  })
})

/** The claims of a payload, if they are valid. */
function expectedClaims(payload: string): unknown {
  let input: Record<string, unknown> | null
  try {
    input = JSON.parse(Buffer.from(payload).toString())
  } catch {
    return undefined
  }
  const own = (name: string) => (Object.hasOwn(Object(input), name) ? input?.[name] : undefined)
  const texts = ['iss', 'sub', 'jti'].map((name) => [name, own(name)] as const)
  const numbers = ['iat', 'exp', 'gen'].map((name) => [name, own(name)] as const)
  const aud = own('aud')
  if (input === null || Array.isArray(input)) return undefined
  if (texts.some(([, text]) => typeof text !== 'string')) return undefined
  if (numbers.some(([, number]) => typeof number !== 'number')) return undefined
  if (aud !== 'session' && aud !== 'api') return undefined
  const said = { ...Object.fromEntries([...texts, ...numbers]), aud }
  if (!Object.hasOwn(input, 'scope')) return said
  const scope = own('scope')
  return scope === 'read' || scope === 'read write' ? { ...said, scope } : undefined
}
