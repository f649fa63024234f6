import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isPasswordHash } from '../../src/auth/password.ts'
import { holdFor } from '../support/properties/hold-property.ts'

describe('a password hash', () => {
  it('is valid only in a form that can be computed', (t) => {
    const parts = fc.tuple(
      fc.constantFrom('$argon2id', '$argon2id', '$argon2i', 'argon2id', ''),
      fc.constantFrom('$v=19', '$v=19', '$v=16', ''),
      fc.constantFrom(
        '$m=19456,t=2,p=1',
        '$m=8,t=1,p=1',
        '$m=19456,p=1,t=2',
        '$m=99999999,t=2,p=1',
        '$m=,t=2,p=1',
        '$m=-8,t=2,p=1',
      ),
      fc.constantFrom('$AAAAAAAAAAA', '$AAAAAAAAAA', '$+/+/+/+/+/+/', '$-_-_-_-_-_-_', '$'),
      fc.constantFrom('$AAAAAAAAAAAAAAAA', '$AAAAAAAAAAAAAAA', '$', '', '$AAAAAAAAAAAAAAAA$'),
    )
    holdFor(t, parts, (some) => {
      const [algorithm, version, cost, salt, tag] = some
      const isGood =
        algorithm === '$argon2id' &&
        version === '$v=19' &&
        (cost === '$m=19456,t=2,p=1' || cost === '$m=8,t=1,p=1') &&
        (salt === '$AAAAAAAAAAA' || salt === '$+/+/+/+/+/+/') &&
        tag === '$AAAAAAAAAAAAAAAA'
      assert.equal(isPasswordHash(some.join('')), isGood)
    })
  })
})
