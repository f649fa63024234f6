import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bareHostname } from '../../src/exchange/export-format.ts'

describe('a bare host name', () => {
  it('has no brackets around an address, and is otherwise unchanged', () => {
    assert.equal(bareHostname('[2001:db8::7]'), '2001:db8::7')
    for (const hostname of ['host.example', '2001:db8::7', 'fe80::1%eth0', '192.0.2.7'])
      assert.equal(bareHostname(hostname), hostname)
  })
})
