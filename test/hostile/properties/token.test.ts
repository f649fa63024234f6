import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readBearer } from '../../../src/auth/authenticator.ts'
import { type Claims, createSigningKey, signToken, verifyToken } from '../../../src/auth/signed-token.ts'
import { caller, client, request, setUpAuthenticator } from '../../support/authenticator.ts'
import { holdFor } from './hold-property.ts'
import { anyEdit, anyText, applyEdit, joined, treacherousNames, withoutBlanks } from './texts.ts'

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

/** A token of any header and payload, made by RFC 7515 with the test's own HMAC. */
function sealed(header: string, payload: string, secret = ownSecret): string {
  const signed = `${header}.${Buffer.from(payload).toString('base64url')}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** Other spellings of the same bytes, and tokens of other parts. */
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
  it('says what was signed, whichever of the keys signed', (t) => {
    holdFor(t, fc.tuple(claims, fc.constantFrom(...keys)), ([said, signing]) => {
      assert.deepEqual(verifyToken(signToken(said, signing), keys), said)
    })
  })

  it('is a JWT that anybody can make who has the secret, of a header that never changes', (t) => {
    const header = Buffer.from('{"alg":"HS256","typ":"JWT","kid":"k1"}').toString('base64url')
    holdFor(t, claims, (said) => {
      const { iss, sub, aud, iat, exp, jti, gen, scope } = said
      const ordered = { iss, sub, aud, iat, exp, jti, gen, ...(scope === undefined ? {} : { scope }) }
      assert.equal(signToken(ordered, key), sealed(header, JSON.stringify(ordered)))
    })
  })

  it('is refused with anything changed, put in, left out or cut off', (t) => {
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

  it('is refused in any other spelling', (t) => {
    holdFor(t, fc.tuple(claims, fc.constantFrom(...Object.keys(rewritings))), ([said, name]) => {
      const token = signToken(said, key)
      const rewritten = rewritings[name]?.(token) ?? assert.fail(name)
      if (rewritten !== token) assert.equal(verifyToken(rewritten, keys), undefined, rewritten)
    })
  })

  it('is refused with a part of another token, or from a key that is not there', (t) => {
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

  it('is nothing that somebody without the secret writes', (t) => {
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

  it('is refused with any header but the one of its key, even when the signature is good', (t) => {
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

  it('says nothing when what was signed are no claims', (t) => {
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

/** The claims of a payload, as its docstring has them. */
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

describe('a bearer header', () => {
  const scheme = fc
    .tuple(fc.constant('bearer'), fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }))
    .map(([name, capitals]) =>
      name
        .split('')
        .map((letter, i) => (capitals[i] ? letter.toUpperCase() : letter))
        .join(''),
    )
  const blanks = (minLength: number) =>
    fc.string({ unit: fc.constantFrom(' ', ' ', '\t'), minLength, maxLength: 4 })

  it('gives the token, whatever the scheme looks like', (t) => {
    const token = fc.string({
      unit: fc.constantFrom(...BASE64URL, '.', '~', '+', '/', '='),
      minLength: 1,
      maxLength: 40,
    })
    holdFor(t, fc.tuple(scheme, blanks(0), token, blanks(0)), ([name, before, text, behind]) => {
      assert.equal(readBearer(`${name} ${before}${text}${behind}`), text)
    })
  })

  it('is none for another scheme, or with nothing in it', (t) => {
    const other = fc.constantFrom(
      'Basic ',
      'Bearer',
      'Bearer\t',
      'Bearer\u00a0',
      'Bearer \u00a0',
      'Bearer:',
      'Bearertoken ',
      'xBearer ',
      ' Bearer ',
      'BearerBearer ',
      '',
    )
    const rests = joined(['Bearer', 'e30.e30.e30', '=', ' ', '\t', '\u00a0'], anyText)
    holdFor(t, fc.tuple(other, rests), ([name, rest]) => {
      const header = name + rest
      const shown = /^bearer /i.test(header) ? withoutBlanks(header.slice(7)) : ''
      assert.equal(readBearer(header), shown === '' ? undefined : shown)
    })
    holdFor(t, fc.tuple(scheme, fc.constantFrom('', ' '), blanks(0)), ([name, space, behind]) =>
      assert.equal(readBearer(name + space + behind), undefined),
    )
  })
})

describe('a credential', async () => {
  const { authenticator, logIn, getToken, sign } = await setUpAuthenticator({ after })
  const session = await logIn()
  const token = await getToken()
  const narrow = await authenticator.issueToken(caller, [{ id: client.name, secret: client.secret }], 'read')
  const readToken = narrow?.access_token ?? assert.fail('no token')
  const useless = [
    sign({ sub: 'nobody' }),
    sign({ gen: 99 }),
    sign({ exp: 1 }),
    sign({ iss: 'other' }),
    session.slice(0, -1),
    `${token}A`,
    'e30.e30.e30',
  ]

  const text = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(session, token, readToken) },
    fc.constantFrom('', ...useless),
  )
  const bearer = fc.tuple(fc.constantFrom('Bearer ', 'bearer  ', 'Basic ', 'Bearer', ''), text)
  const cookies = fc.array(
    fc.tuple(
      fc.constantFrom(
        'connbook_session',
        'connbook_session',
        'connbook_sessio',
        '__Host-connbook_session',
        'x',
      ),
      text,
    ),
    { maxLength: 3 },
  )

  it('is good only when the one place that counts holds the one that belongs there', (t) => {
    const values = fc.record({
      bearer: fc.option(bearer, { nil: undefined }),
      cookies: fc.option(cookies, { nil: undefined }),
      isSecure: fc.boolean(),
    })
    holdFor(t, values, (shown) => {
      const headers = {
        ...(shown.bearer ? { authorization: shown.bearer.join('') } : {}),
        ...(shown.cookies ? { cookie: shown.cookies.map((pair) => pair.join('=')).join('; ') } : {}),
      }
      const found = authenticator.authenticate({ ...request(headers), isSecure: shown.isSecure })
      if (shown.bearer !== undefined) {
        const [name, shownToken] = shown.bearer
        const isGood =
          name.toLowerCase().startsWith('bearer ') && (shownToken === token || shownToken === readToken)
        const scope = shownToken === readToken ? 'read' : 'read write'
        const expected = { carrier: 'bearer', principal: { kind: 'client', name: 'script', scope } }
        assert.deepEqual(found, isGood ? expected : undefined)
        return
      }
      const cookie = shown.isSecure ? '__Host-connbook_session' : 'connbook_session'
      const [, first] = shown.cookies?.find(([name]) => name === cookie) ?? []
      const principal = { kind: 'user', name: 'admin', scope: 'read write' }
      const expected = { carrier: 'cookie', principal }
      assert.deepEqual(found, first === session ? expected : undefined)
    })
  })
})
