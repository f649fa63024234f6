import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { networkOf, networksOf, parseIPv6 } from '../src/network.ts'

describe('parseIPv6', () => {
  const rows: Record<string, string | undefined> = {
    '::': '00000000000000000000000000000000',
    '::1': '00000000000000000000000000000001',
    '1::': '00010000000000000000000000000000',
    '2001:db8::8:800:200c:417a': '20010db80000000000080800200c417a',
    '2001:DB8:0:0:8:800:200C:417A': '20010db80000000000080800200c417a',
    '2001:0db8:0000:0000:0008:0800:200c:417a': '20010db80000000000080800200c417a',
    '1:2:3:4:5:6:7::': '00010002000300040005000600070000',
    '::2:3:4:5:6:7:8': '00000002000300040005000600070008',
    '1:2:3:4:5:6:7:8': '00010002000300040005000600070008',
    '::192.0.2.1': '000000000000000000000000c0000201',
    '::ffff:192.0.2.1': '00000000000000000000ffffc0000201',
    '64:ff9b::192.0.2.33': '0064ff9b0000000000000000c0000221',
    '1:2:3:4:5:6:192.0.2.1': '000100020003000400050006c0000201',
    'fe80::1%eth0': 'fe800000000000000000000000000001',
    '192.0.2.1': undefined,
    '': undefined,
    unix: undefined,
    '1::2::3': undefined,
    '12345::': undefined,
  }
  for (const [text, expected] of Object.entries(rows)) {
    it(`reads "${text}" as ${expected}`, () => assert.equal(parseIPv6(text)?.toString('hex'), expected))
  }
})

describe('networkOf', () => {
  const same: readonly (readonly [string, string])[] = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8:0:0:1::'],
    ['2001:db8:0:1::1', '2001:db8::1:0:0:0:2'],
    ['2001:DB8:0:1::', '2001:0db8:0000:0001:0:0:0:1'],
    ['1:2:3:4::', '1:2:3:4:5:6:192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::2'],
  ]
  for (const [one, other] of same) {
    it(`is the same for ${one} and ${other}`, () => assert.equal(networkOf(one), networkOf(other)))
  }

  const different: readonly (readonly [string, string])[] = [
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['::1:2:3:4:5', '0:0:0:2:1::'],
    ['1::2:3:4:5:6', '1:0:0:3::'],
    ['2001:db8:0:1::1.2.3.4', '2001:db8:0:2::1.2.3.4'],
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['::1', '2001:db8::1'],
  ]
  for (const [one, other] of different) {
    it(`differs for ${one} and ${other}`, () => assert.notEqual(networkOf(one), networkOf(other)))
  }

  it('leaves a text that is no address as it is', () => assert.equal(networkOf('unix'), 'unix'))
})

describe('networksOf', () => {
  const rows: Record<string, readonly string[]> = {
    '2001:db8:1:2::1': ['20010db80001/48', '20010db8000100/56', '20010db800010002/64'],
    '2001:db8:1:2ff::': ['20010db80001/48', '20010db8000102/56', '20010db8000102ff/64'],
    '::1': ['000000000000/48', '00000000000000/56', '0000000000000000/64'],
    '192.0.2.1': ['192.0.2.0/24', '192.0.2.1'],
    '::ffff:192.0.2.1': ['192.0.2.0/24', '192.0.2.1'],
    unix: ['unix'],
  }
  for (const [address, expected] of Object.entries(rows)) {
    it(`are ${expected.join(', ')} for ${address}`, () => {
      assert.deepEqual(networksOf(address), expected)
      assert.equal(expected.at(-1), networkOf(address))
    })
  }
})
