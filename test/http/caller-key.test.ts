import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callerKey } from '../../src/http/message.ts'

describe('the key of a caller', () => {
  it('without an account is its network', () => {
    const one = callerKey({ address: '2001:db8::1' })
    assert.equal(callerKey({ address: '2001:DB8:0:0:ffff::2' }), one)
    assert.notEqual(callerKey({ address: '2001:db8:0:1::1' }), one)
    assert.notEqual(callerKey({ address: '192.0.2.1' }), callerKey({ address: '192.0.2.2' }))
  })

  it('with an account is the account, wherever it calls from', () => {
    const principal = { kind: 'user', name: 'eve', scope: 'read' } as const
    const one = callerKey({ address: '192.0.2.1', principal })
    assert.equal(callerKey({ address: '2001:db8::1', principal }), one)
    assert.notEqual(callerKey({ address: '192.0.2.1', principal: { ...principal, kind: 'client' } }), one)
  })
})
