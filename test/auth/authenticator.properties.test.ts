import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readBearer } from '../../src/auth/authenticator.ts'
import { caller } from '../support/message.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyText, joined, withoutBlanks } from '../support/properties/texts.ts'
import { COOKIE, client, request, setUpAuthenticator } from './authenticator-setup.ts'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

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

  it('yields the token, whatever the case of the scheme and the blanks around the token', (t) => {
    const token = fc.string({
      unit: fc.constantFrom(...BASE64URL, '.', '~', '+', '/', '='),
      minLength: 1,
      maxLength: 40,
    })
    holdFor(t, fc.tuple(scheme, blanks(0), token, blanks(0)), ([name, before, text, behind]) => {
      assert.equal(readBearer(`${name} ${before}${text}${behind}`), text)
    })
  })

  it('yields nothing with another scheme, or without a token', (t) => {
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
        COOKIE,
        'connbook_session',
        'connbook_sessio',
        `__Host-${COOKIE}`,
        '__Host-connbook_session',
        'x',
      ),
      text,
    ),
    { maxLength: 4 },
  )

  it('is accepted only as the right kind of token in the header that takes precedence', (t) => {
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
      const credential = authenticator.authenticate({ ...request(headers), isSecure: shown.isSecure })
      const found = credential && { carrier: credential.carrier, principal: credential.principal }
      if (shown.bearer !== undefined) {
        const [name, shownToken] = shown.bearer
        const isGood =
          name.toLowerCase().startsWith('bearer ') && (shownToken === token || shownToken === readToken)
        const scope = shownToken === readToken ? 'read' : 'read write'
        const expected = { carrier: 'bearer', principal: { kind: 'client', name: 'script', scope } }
        assert.deepEqual(found, isGood ? expected : undefined)
        return
      }
      const prefix = shown.isSecure ? '__Host-' : ''
      const names = [`${prefix}${COOKIE}`, `${prefix}connbook_session`]
      const isShown = shown.cookies?.some(([name, value]) => names.includes(name) && value === session)
      const principal = { kind: 'user', name: 'admin', scope: 'read write' }
      const expected = { carrier: 'cookie', principal }
      assert.deepEqual(found, isShown ? expected : undefined)
    })
  })
})
