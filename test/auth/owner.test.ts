import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readOwner } from '../../src/auth/owner.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { systemAccount } from '../../src/system-account.ts'

const owner = (headers: Record<string, string>) => readOwner({ headers })

describe('readOwner', () => {
  it('reads the system account and the command that the caller names', () => {
    assert.deepEqual(owner({ 'connbook-account': 'j%C3%B6rg', 'connbook-command': 'user%20add' }), {
      kind: 'command',
      name: 'jörg',
      command: 'user add',
      scope: 'read write',
    })
  })

  it('names the account of the server, and no command, for a caller that names neither', () => {
    const { name, command } = owner({})
    assert.deepEqual([name, command], [systemAccount(), 'http'])
  })

  it('refuses names that the audit trail could not show, and tells which', () => {
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
