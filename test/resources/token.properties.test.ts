import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { Authenticator } from '../../src/auth/authenticator.ts'
import type { ClientCredentials } from '../../src/auth/secret-checks.ts'
import type { Request } from '../../src/http/message.ts'
import { Problem, problemOf } from '../../src/http/problem.ts'
import type { Scope } from '../../src/http/scope.ts'
import { oauthReply, tokenHandlers } from '../../src/resources/token.ts'
import { headersOf, requestOf } from '../support/message.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { anySpellings, encodePercent } from '../support/properties/percent-encoding.ts'
import {
  anyEdit,
  anyText,
  applyEdit,
  codePoint,
  joined,
  treacherousNames,
  withoutBlanks,
} from '../support/properties/texts.ts'

const FORM = 'application/x-www-form-urlencoded'

let asked: readonly ClientCredentials[] | undefined
let askedScope: Scope | undefined
const authenticator: Pick<Authenticator, 'issueToken' | 'revokeToken'> = {
  async issueToken(_caller, spellings, wanted) {
    asked = spellings
    askedScope = wanted
    return { access_token: 'a.b.c', token_type: 'Bearer', expires_in: 60, scope: wanted ?? 'read write' }
  },
  revokeToken: async () => true,
}
const { issue } = tokenHandlers(authenticator)

/** The spellings of the credentials that a request is read as, or the problem that it causes. */
async function ask(request: Request): Promise<readonly ClientCredentials[] | Problem> {
  asked = undefined
  askedScope = undefined
  try {
    const { status } = await issue(request)
    assert.equal(status, 200)
    return asked ?? assert.fail('a token was given to nobody')
  } catch (error) {
    assert.equal(asked, undefined)
    const problem = problemOf(error)
    if (problem !== undefined) return problem
    throw error
  }
}

const id = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: codePoint, minLength: 1, maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom('script', 'a+b', 'a%41', '%', ...treacherousNames) },
)
const secret = fc.oneof(id, fc.constantFrom('s3c+r%t/=:~x é', ':', 'a:b'))
const extras = fc.dictionary(
  fc.constantFrom('scopes', 'audience', '__proto__', 'x'),
  fc.constantFrom('', 'x', 'client_secret'),
  { maxKeys: 2 },
)
const grants = fc.constantFrom<Record<string, string>[]>({}, { grant_type: 'client_credentials' })
const inAnyOrder = (members: Record<string, string>) => {
  const entries = Object.entries(members)
  return fc.shuffledSubarray(entries, { minLength: entries.length })
}

/** Scopes of RFC 6749 section 3.3, valid and invalid. */
const scopeText = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.array(fc.constantFrom('read', 'write', 'admin'), { maxLength: 3 }),
        fc.constantFrom(' ', ' ', ' ', ' ', '\t', '\u00a0', '  ', ','),
      )
      .map(([some, gap]) => some.join(gap)),
  },
  {
    weight: 1,
    arbitrary: joined(['read', 'write', 'read', 'write', ' ', ' ', '\t', '\u00a0', 'admin', ','], anyText, 4),
  },
)

/** The requested scope; undefined if none is named, `invalid` if no client may have it. */
function expectedScope(text: string | undefined): Scope | 'invalid' | undefined {
  if (text === undefined || text === '') return undefined
  const wanted = new Set(text.split(' '))
  const mayAdminister = wanted.delete('admin')
  const mayWrite = wanted.delete('write')
  const mayRead = wanted.delete('read')
  if (wanted.size > 0 || !(mayRead || mayWrite || mayAdminister)) return 'invalid'
  if (mayAdminister) return 'read write admin'
  return mayWrite ? 'read write' : 'read'
}

/** The error response for a problem (RFC 6749 section 5.2). */
function toldOf(problem: Problem): { error: string; error_description: string } {
  const reply = oauthReply(problem)
  return JSON.parse(String(reply.body))
}

/** Asserts that a request leads to its credentials and scope. */
async function checkMeaning(request: Request, shown: ClientCredentials, scope: string | undefined) {
  const found = await ask(request)
  const expected = expectedScope(scope)
  if (expected === 'invalid') {
    assert.ok(found instanceof Problem)
    assert.deepEqual([found.status, found.code, toldOf(found).error], [400, 'invalid_scope', 'invalid_scope'])
    return
  }
  assert.deepEqual(found, [shown])
  assert.equal(askedScope, expected)
}

const credentials = fc.record({ id, secret }, { noNullPrototype: true })
/** Basic cannot carry a colon in an id. */
const forBasic = credentials.filter(({ id }) => !id.includes(':') && !id.startsWith('\ufeff'))

describe('a token request', () => {
  it('in JSON identifies the client that it names, whatever other members it has', async (t) => {
    const types = fc.constantFrom(
      undefined,
      'application/json',
      'text/plain',
      FORM,
      'application/x+json; charset=UTF-8',
    )
    const values = fc
      .tuple(credentials, extras, grants, types, scopeText)
      .chain(([shown, others, grant, type, scope]) => {
        const given = scope === undefined ? {} : { scope }
        const members = { ...others, ...given, ...grant, client_id: shown.id, client_secret: shown.secret }
        return inAnyOrder(members).map((entries) => ({ shown, type, scope, entries }))
      })
    await holdLaterFor(t, values, async ({ shown, type, scope, entries }) => {
      const text = `{${entries.map((pair) => pair.map((part) => JSON.stringify(part)).join(':')).join(',')}}`
      await checkMeaning(requestOf(headersOf({ 'content-type': type }), text), shown, scope)
    })
  })

  it('in a form identifies the client that it names, in any order and encoding', async (t) => {
    const types = fc.constantFrom(FORM, FORM.toUpperCase(), `${FORM};charset=utf-8`)
    // A form cannot carry a lone surrogate.
    const formScopeText = scopeText.filter((text) => text?.isWellFormed() ?? true)
    const writers = fc.oneof(
      fc.constant((entries: string[][]) => new URLSearchParams(entries as [string, string][]).toString()),
      anySpellings.map((spellings) => (entries: string[][]) => {
        const encode = (text: string) => encodePercent(text, spellings)
        return entries.map((pair) => pair.map(encode).join('=')).join('&')
      }),
    )
    const values = fc
      .tuple(credentials, extras, grants, types, writers, formScopeText)
      .chain(([shown, others, grant, type, write, scope]) => {
        const given = scope === undefined ? {} : { scope }
        const members = { ...others, ...given, ...grant, client_id: shown.id, client_secret: shown.secret }
        return inAnyOrder(members).map((entries) => ({ shown, type, scope, text: write(entries) }))
      })
    await holdLaterFor(t, values, async ({ shown, type, scope, text }) => {
      await checkMeaning(requestOf({ 'content-type': type }, text), shown, scope)
    })
  })

  it('with Basic identifies the client that it names, first as sent, then decoded', async (t) => {
    const schemes = fc.constantFrom('Basic ', 'basic ', 'BASIC  ', 'Basic \t')
    await holdLaterFor(
      t,
      fc.tuple(forBasic, schemes, anySpellings, fc.boolean()),
      async ([{ id, secret }, scheme, spellings, isBare]) => {
        const basic = (name: string, password: string) => {
          const encoded = Buffer.from(`${name}:${password}`).toString('base64')
          return requestOf({ authorization: scheme + (isBare ? encoded.replace(/=+$/, '') : encoded) })
        }
        const plain = await ask(basic(id, secret))
        assert.ok(!(plain instanceof Problem))
        assert.deepEqual(plain[0], { id, secret })
        const encoded = await ask(basic(encodePercent(id, spellings), encodePercent(secret, spellings)))
        assert.ok(!(encoded instanceof Problem))
        assert.deepEqual(encoded.at(-1), { id, secret })
        for (const spelling of [...plain, ...encoded])
          assert.deepEqual(Object.keys(spelling), ['id', 'secret'])
      },
    )
  })

  it('is refused with the error of its one fault', async (t) => {
    const faults: Record<
      string,
      (shown: ClientCredentials) => { request: Request; status: number; code: string }
    > = {
      'an id that is no text': ({ secret }) => json({ client_id: 1, client_secret: secret }),
      'a null': ({ id }) => json({ client_id: id, client_secret: null }),
      'no id': ({ secret }) => json({ client_secret: secret }),
      'no secret': ({ id }) => json({ client_id: id }),
      'a scope that is no text': (shown) => json({ ...body(shown), scope: ['read'] }),
      'a scope of nothing that there is': (shown) =>
        json({ ...body(shown), scope: 'read all' }, 'invalid_scope'),
      'a scope twice': (shown) => form(`${new URLSearchParams(body(shown))}&scope=read&scope=read`),
      'another grant': (shown) => json({ ...body(shown), grant_type: 'password' }, 'unsupported_grant_type'),
      'members of a prototype': (shown) => ({
        request: requestOf({}, `{"__proto__":${JSON.stringify(body(shown))}}`),
        status: 400,
        code: 'invalid_request',
      }),
      'an id twice': (shown) => form(`${new URLSearchParams(body(shown))}&client_id=x`),
      'the same id twice': (shown) =>
        form(`${new URLSearchParams(body(shown))}&${new URLSearchParams({ client_id: shown.id })}`),
      'an unknown parameter twice': (shown) => form(`x=1&${new URLSearchParams(body(shown))}&%78=2`),
      'an empty secret': ({ id }) => form(`client_secret=&${new URLSearchParams({ client_id: id })}`),
      'a bad escape': (shown) => form(`${new URLSearchParams(body(shown))}&x=%e9`),
      'Basic and a secret': (shown) => form(`${new URLSearchParams(body(shown))}`, basicOf(shown)),
      'Basic and another id': (shown) =>
        form(new URLSearchParams({ client_id: `${shown.id}${shown.id}x` }).toString(), basicOf(shown)),
      'Basic without a colon': ({ id }) =>
        form('', `Basic ${Buffer.from(id.replaceAll(':', '')).toString('base64')}`),
      'Basic of bad UTF-8': ({ id }) =>
        form('', `Basic ${Buffer.concat([Buffer.from(id), Buffer.from([0xff, 0x3a])]).toString('base64')}`),
      'Basic in base64url': ({ id }) =>
        form('', `Basic ${Buffer.from(`${id}:\u00ff\u07ff\uffff`).toString('base64')}-_`),
      'Basic with a no-break space': (shown) => form('', `${basicOf(shown)}\u00a0`),
      'Basic with a blank': (shown) => form('', basicOf(shown).replace(/.$/, ' $&')),
    }
    const body = ({ id, secret }: ClientCredentials) => ({ client_id: id, client_secret: secret })
    const json = (input: object, code = 'invalid_request') => {
      return {
        request: requestOf({ 'content-type': 'application/json' }, JSON.stringify(input)),
        status: 400,
        code,
      }
    }
    const form = (text: string, authorization?: string) => {
      return {
        request: requestOf(headersOf({ 'content-type': FORM, authorization }), text),
        status: 400,
        code: 'invalid_request',
      }
    }
    const basicOf = ({ id, secret }: ClientCredentials) =>
      `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    await holdLaterFor(
      t,
      fc.tuple(forBasic, fc.constantFrom(...Object.keys(faults))),
      async ([parts, name]) => {
        const { request, status, code } = faults[name]?.(parts) ?? assert.fail(name)
        const problem = await ask(request)
        assert.ok(problem instanceof Problem, name)
        assert.deepEqual([problem.status, problem.code, toldOf(problem).error], [status, code, code], name)
      },
    )
  })

  it('of any kind yields only texts from the request, or a client error in the characters that OAuth allows', async (t) => {
    const pieces = [
      'client_id',
      'client_secret',
      'grant_type',
      'client_credentials',
      'scope',
      'read',
      '=',
      '&',
      '{',
      '}',
      '"',
      ':',
      ',',
      '%41',
      '+',
      '%ff',
    ]
    const bodies = fc.oneof(
      joined(pieces, anyText, 14),
      fc
        .tuple(credentials, anyEdit(joined(pieces, anyText, 2)))
        .map(([{ id, secret }, edit]) =>
          applyEdit(JSON.stringify({ client_id: id, client_secret: secret }), edit),
        ),
      fc
        .tuple(credentials, anyEdit(joined(pieces, anyText, 2)))
        .map(([{ id, secret }, edit]) =>
          applyEdit(new URLSearchParams({ client_id: id, client_secret: secret }).toString(), edit),
        ),
    )
    const authorizations = fc.option(
      fc
        .tuple(
          fc.constantFrom('Basic ', 'basic', 'Bearer ', 'Basic'),
          credentials,
          anyEdit(fc.constantFrom('=', '-', ' ', '\t', '\u00a0', '*', 'A', '')),
        )
        .map(
          ([scheme, { id, secret }, edit]) =>
            scheme + applyEdit(Buffer.from(`${id}:${secret}`).toString('base64'), edit),
        ),
      { nil: undefined, freq: 2 },
    )
    const types = fc.constantFrom(
      undefined,
      'application/json',
      FORM,
      'text/plain',
      'text/xml',
      `${FORM};charset=latin1`,
    )
    await holdLaterFor(t, fc.tuple(bodies, authorizations, types), async ([text, authorization, type]) => {
      const found = await ask(requestOf(headersOf({ authorization, 'content-type': type }), text))
      if (!(found instanceof Problem)) {
        assert.ok(found.length === 1 || (found.length === 2 && authorization !== undefined))
        for (const { id, secret } of found) assert.deepEqual([typeof id, typeof secret], ['string', 'string'])
        if (authorization !== undefined && /^basic /i.test(authorization)) {
          const [raw] = found
          const shown = withoutBlanks(authorization.slice(5)).replace(/=+$/, '')
          const again = Buffer.from(`${raw?.id}:${raw?.secret}`).toString('base64').replace(/=+$/, '')
          // The last character may hold bits that belong to no byte.
          assert.equal(again.slice(0, -1), shown.slice(0, again.length - 1))
          assert.ok(shown.length - again.length <= 1)
        }
        return
      }
      assert.ok([400, 415].includes(found.status))
      const { error, error_description } = toldOf(found)
      assert.ok(['invalid_request', 'unsupported_grant_type', 'invalid_scope'].includes(error))
      assert.match(error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    })
  })
})
