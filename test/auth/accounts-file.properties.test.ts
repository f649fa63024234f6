import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { parseAccounts } from '../../src/auth/accounts-file.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { hasOnly, odd, spoilt } from '../support/properties/spoilt.ts'
import { anyText } from '../support/properties/texts.ts'

const hash =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

describe('accounts', () => {
  const secret = fc.oneof(
    fc.constantFrom(hash, 'sha256:x', 'sha256:'),
    fc.constantFrom(
      '',
      'md5:x',
      'sha256',
      'SHA256:x',
      hash.slice(1),
      hash.slice(0, 40),
      `${hash} `,
      hash.replace('id', 'i'),
    ),
  )
  const scope = fc.constantFrom<unknown>(
    'read',
    'read write',
    'read',
    'write',
    'write read',
    '',
    'Read',
    null,
    [],
  )
  const account = fc.record(
    { name: anyText, secret, generation: fc.nat(), scope },
    { requiredKeys: ['name', 'secret', 'generation'], noNullPrototype: true },
  )
  const entry = fc.oneof(
    { weight: 6, arbitrary: account },
    { weight: 1, arbitrary: spoilt(account, ['name', 'secret', 'generation', 'scope']) },
    { weight: 1, arbitrary: odd },
  )
  const list = fc.array(entry, { maxLength: 2 })
  const whole = fc.record({ lastGeneration: fc.nat(), users: list, clients: list }, { noNullPrototype: true })

  it('are read as written, or refused', (t) => {
    const isAccount = (input: unknown) => {
      const { name, secret: stored, generation, scope: allowed } = Object(input)
      const isStored = typeof stored === 'string' && (stored.startsWith('sha256:') || stored === hash)
      const isAllowed = allowed === undefined || allowed === 'read' || allowed === 'read write'
      const isKnown = hasOnly(Object(input), ['name', 'secret', 'generation', 'scope'])
      return isKnown && typeof name === 'string' && isStored && typeof generation === 'number' && isAllowed
    }
    holdFor(
      t,
      fc.oneof(
        { weight: 6, arbitrary: spoilt(whole, ['users', 'clients', 'lastGeneration']) },
        { weight: 1, arbitrary: odd },
      ),
      (input) => {
        const { lastGeneration, users, clients } = Object(input)
        const lists = [users, clients]
        const isGood =
          typeof lastGeneration === 'number' &&
          hasOnly(Object(input), ['lastGeneration', 'users', 'clients']) &&
          lists.every((some) => Array.isArray(some) && some.every(isAccount))
        if (!isGood) {
          assert.throws(() => parseAccounts(input), SyntaxError)
          return
        }
        assert.deepEqual(parseAccounts(input), { lastGeneration, users, clients })
      },
    )
  })
})
