import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKnownNetworks } from '../../src/auth/known-networks.ts'
import { ACCOUNT_KNOWN_NETWORKS_MAX, KNOWN_NETWORK_MS, KNOWN_NETWORKS_MAX } from '../../src/limits.ts'
import { holdClock } from '../support/held-clock.ts'

function setUp() {
  const held = holdClock()
  return { held, known: createKnownNetworks(held.make()) }
}

describe('the networks that are known for an account', () => {
  it('are those from which it has logged in', () => {
    const { known } = setUp()
    known.add('user one', '192.0.2.1')
    assert.ok(known.has('user one', '192.0.2.1'))
    assert.ok(!known.has('user one', '192.0.2.2'))
    assert.ok(!known.has('user other', '192.0.2.1'))
  })

  it('are known for a time after each login', () => {
    const { held, known } = setUp()
    known.add('user one', '192.0.2.1')
    held.advance(KNOWN_NETWORK_MS - 1)
    known.add('user one', '192.0.2.1')
    held.advance(KNOWN_NETWORK_MS - 1)
    assert.ok(known.has('user one', '192.0.2.1'))
    held.advance(1)
    assert.ok(!known.has('user one', '192.0.2.1'))
  })

  it('are bounded for an account, whose least recent one is forgotten', () => {
    const { known } = setUp()
    known.add('user other', 'home')
    known.add('user one', 'first')
    for (let i = 1; i < ACCOUNT_KNOWN_NETWORKS_MAX; i += 1) known.add('user one', `network ${i}`)
    known.add('user one', 'first')
    known.add('user one', 'one more')
    assert.ok(known.has('user one', 'first'))
    assert.ok(!known.has('user one', 'network 1'))
    assert.ok(known.has('user one', 'network 2'))
    assert.ok(known.has('user other', 'home'))
  })

  it('are bounded for all accounts, and one is forgotten of the account that logged in least recently', () => {
    const { known } = setUp()
    known.add('user quiet', 'first')
    known.add('user quiet', 'second')
    for (let i = 0; i < KNOWN_NETWORKS_MAX - 2; i += 1) known.add(`user ${i}`, 'home')
    assert.ok(known.has('user quiet', 'first'))
    known.add('user new', 'home')
    assert.ok(!known.has('user quiet', 'first'))
    assert.ok(known.has('user quiet', 'second'))
    known.add('user newer', 'home')
    known.add('user newest', 'home')
    assert.ok(!known.has('user quiet', 'second'))
    assert.ok(!known.has('user 0', 'home'))
    assert.ok(known.has('user 1', 'home'))
  })
})
