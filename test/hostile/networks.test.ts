import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FREE_FAILURES, WIDER_FREE_FAILURES } from '../../src/auth/throttle.ts'
import { createClient } from '../support/http-client.ts'
import { admin, start } from '../support/service.ts'

interface Case {
  /** Addresses of one network, in several spellings. */
  readonly attacker: readonly string[]
  /** Addresses of other networks; their texts begin like those of the attacker. */
  readonly others: readonly string[]
}

const cases: Record<string, Case> = {
  'a /64 of IPv6': {
    attacker: [
      '2001:db8:1:2::',
      '2001:DB8:1:2::1',
      '2001:0db8:0001:0002:0:0:0:2',
      '2001:db8:1:2:ffff:ffff:ffff:ffff',
      '2001:db8:1:2::192.0.2.1',
      '[2001:db8:1:2::3]:443',
    ],
    others: ['2001:db8:1:20::1', '2001:db8:1:21::', '2001:db8:1::2', '2001:db8:1::', '2001:db8:12::1'],
  },
  'a /64 of IPv6 with compressed zeros': {
    attacker: [
      '2001:db8::1',
      '2001:db8:0:0::2',
      '2001:db8:0:0:1::',
      '2001:db8::1:0:0:0',
      '2001:db8::ffff:0:1',
    ],
    others: ['2001:db8::1:0:0:0:0', '2001:db8:0:1::', '2001:db8:0:100::1', '2001:db8:1::', '2001:db80::1'],
  },
  'an IPv4 address': {
    attacker: [
      '203.0.113.1',
      '::ffff:203.0.113.1',
      '::FFFF:cb00:7101',
      '0:0:0:0:0:ffff:203.0.113.1',
      '0000::ffff:cb00:7101',
      '203.0.113.1:50000',
    ],
    others: ['203.0.113.10', '203.0.113.2', '::ffff:203.0.113.3', '::ffff:cb00:7104', '::203.0.113.1'],
  },
}

describe('wrong logins through a trusted proxy', { concurrency: true }, () => {
  for (const [what, { attacker, others }] of Object.entries(cases)) {
    it(`from ${what} block all of it, in every spelling, and nobody else`, async (t) => {
      const flags = ['--trust-proxy', '127.0.0.1']
      const ask = createClient((await start(t, { flags })).url)
      const logIn = async (address: string, password = admin.password) => {
        const headers = { 'X-Forwarded-For': address }
        return (await ask('POST', '/login', { headers, body: { ...admin, password } })).status
      }
      for (let i = 0; i < FREE_FAILURES; i += 1)
        assert.equal(await logIn(attacker[i % attacker.length] ?? '', 'wrong'), 401)
      // Each refusal is held for a moment: all at once.
      const tryAll = () => Promise.all(attacker.map((address) => logIn(address)))
      const refused = attacker.map(() => 429)
      assert.deepEqual(await tryAll(), refused)
      for (const address of others) assert.equal(await logIn(address), 200, address)
      assert.deepEqual(await tryAll(), refused)
    })
  }
  it('from many /64s of one /56 block all of it, but no network from which the account has logged in', async (t) => {
    const ask = createClient((await start(t, { flags: ['--trust-proxy', '127.0.0.1'] })).url)
    const logIn = async (address: string, password = admin.password) => {
      const headers = { 'X-Forwarded-For': address }
      return (await ask('POST', '/login', { headers, body: { ...admin, password } })).status
    }
    const known = '2001:db8:1:2ff::1'
    assert.equal(await logIn(known), 200)
    for (let i = 0; i < WIDER_FREE_FAILURES[0]; i += 1)
      assert.equal(await logIn(`2001:db8:1:20${i % 8}::1`, 'wrong'), 401)
    assert.equal(await logIn('2001:db8:1:2fe::1'), 429)
    assert.equal(await logIn(known), 200)
    assert.equal(await logIn('2001:db8:1:300::1'), 200)
  })
})
