import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { scopeFor } from '../../src/http/scope.ts'
import { parseAccountPatch, parseNewAccount } from '../../src/resources/account-body.ts'
import { parseGrants } from '../../src/store/grants.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'

const kind = fc.constantFrom('user' as const, 'client' as const)
const secretOf = { user: 'password', client: 'secret' } as const
const value = fc.oneof(
  fc.constantFrom<unknown>(
    'eve',
    'user',
    'client',
    'read',
    'write',
    'admin',
    'a:b',
    '..',
    '',
    true,
    false,
    null,
    1,
  ),
  fc.constantFrom('a good password', 'sixteen characters', ' blank', 'two\nlines', '\ud800 not well formed'),
  fc.constantFrom<unknown>(['read'], ['write?prefix=db-', 'read', 'read'], [], ['admin'], ['read?prefix=']),
  fc.jsonValue({ maxDepth: 1 }),
)
type Body = Record<string, unknown>

const member = fc.oneof(
  fc.constantFrom(
    'name',
    'kind',
    'scope',
    'password',
    'secret',
    'rotate',
    'grants',
    '__proto__',
    'constructor',
  ),
  fc.string(),
)
const body = fc
  .array(fc.tuple(member, value), { maxLength: 5 })
  .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Body)

/** A kind, and a body for it: sound, with members that may be odd, or only such. */
const kindAndBody = kind.chain((of) => {
  const members: Record<string, fc.Arbitrary<unknown>> = {
    name: fc.constant('eve'),
    scope: fc.constantFrom('read', 'write'),
    grants: fc.constantFrom(['read'], ['write?prefix=db-', 'read', 'read']),
    [secretOf[of]]: fc.constant('a good password of sixteen characters'),
  }
  const requiredKeys = of === 'user' ? ['name', 'password'] : ['name']
  const sound = fc.record<Body>(members, { requiredKeys, noNullPrototype: true })
  const mixed = fc.tuple(sound, body).map(([whole, some]): Body => ({ ...whole, ...some }))
  return fc.tuple(fc.constant(of), fc.oneof(sound, mixed, body))
})

/** What a parser returns, or the fields that it refuses. */
function outcome<Parsed>(parse: () => Parsed): { readonly parsed: Parsed } | { readonly fields: string[] } {
  try {
    return { parsed: parse() }
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    assert.ok(error.faults.length > 0)
    return { fields: error.faults.map(({ field }) => field) }
  }
}

describe('bodies of accounts', () => {
  it('are a valid account to add, or all their faults are named', async (t) => {
    await holdLaterFor(t, kindAndBody, async ([of, sent]) => {
      const result = outcome(() => parseNewAccount(of, sent))
      if ('fields' in result) {
        const known = [...Object.keys(sent), 'name', 'password']
        for (const field of result.fields) assert.ok(known.includes(field), field)
        return
      }
      const { name, scope, grants, secret } = result.parsed
      const allowed = ['name', 'kind', 'scope', 'grants', secretOf[of]]
      for (const field of Object.keys(sent)) assert.ok(allowed.includes(field), field)
      assert.equal(name, sent.name)
      assert.equal(scope, scopeFor((sent.scope ?? 'write') as 'write'))
      assert.deepEqual(grants, sent.grants === undefined ? undefined : parseGrants(sent.grants))
      assert.ok(grants === undefined || scope !== scopeFor('admin'))
      const chosen = sent[secretOf[of]]
      assert.deepEqual(secret, chosen === undefined ? 'made' : { chosen })
      if (of === 'user') assert.notEqual(secret, 'made')
    })
  })

  it('are what to change, or all their faults are named', async (t) => {
    await holdLaterFor(t, kindAndBody, async ([of, sent]) => {
      const result = outcome(() => parseAccountPatch(of, 'eve', sent))
      if ('fields' in result) {
        for (const field of result.fields) assert.ok(Object.keys(sent).includes(field), field)
        return
      }
      const allowed = [
        'name',
        'kind',
        'scope',
        'grants',
        secretOf[of],
        ...(of === 'client' ? ['rotate'] : []),
      ]
      for (const field of Object.keys(sent)) assert.ok(allowed.includes(field), field)
      assert.ok(sent.name === undefined || sent.name === 'eve')
      assert.ok(sent.kind === undefined || sent.kind === of)
      const { scope, grants, secret } = result.parsed
      assert.equal(scope, sent.scope === undefined ? undefined : scopeFor(sent.scope as 'read'))
      assert.deepEqual(grants, sent.grants == null ? sent.grants : parseGrants(sent.grants))
      const chosen = sent[secretOf[of]]
      assert.deepEqual(secret, sent.rotate === true ? 'made' : chosen === undefined ? undefined : { chosen })
    })
  })
})
