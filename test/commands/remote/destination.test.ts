import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, it } from 'node:test'
import { callersAccount, parseDestination } from '../../../src/commands/remote/destination.ts'

describe('USER@HOST:PORT', () => {
  const read: Record<string, [username: string | undefined, hostname: string, port: number | undefined]> = {
    'deploy@web1.example:2222': ['deploy', 'web1.example', 2222],
    'deploy@web1': ['deploy', 'web1', undefined],
    'web1:22': [undefined, 'web1', 22],
    web1: [undefined, 'web1', undefined],
    'a@b@web1:1': ['a@b', 'web1', 1],
    'u@[2001:db8::1]:65535': ['u', '2001:db8::1', 65_535],
    '[fe80::1%eth0]': [undefined, 'fe80::1%eth0', undefined],
    'a:b@web1:0022': ['a:b', 'web1', 22],
    'u@[web1]:22': ['u', 'web1', 22],
  }
  for (const [text, [username, hostname, port]] of Object.entries(read))
    it(`reads ${text}`, () => assert.deepEqual(parseDestination(text), { username, hostname, port }))

  const refused: Record<string, RegExp> = {
    '': /there is no host$/,
    'u@': /there is no host$/,
    'u@:22': /there is no host$/,
    'u@[]:22': /there is no host$/,
    '@web1': /there is no user before "@"$/,
    '::1': /in brackets, as in \[::1\]:22$/,
    'u@2001:db8::1': /in brackets/,
    '[::1': /only :PORT may follow$/,
    '[::1]22': /only :PORT may follow$/,
    'web1:': /the port must be a number from 1 to 65535$/,
    'web1:0': /the port must/,
    'web1:65536': /the port must/,
    'web1:ssh': /the port must/,
    'web1:-1': /the port must/,
    'ssh://u@web1': /leave out what is before USER$/,
  }
  for (const [text, message] of Object.entries(refused))
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseDestination(text), { name: 'UsageError', message })
    })
})

describe('the account of the caller', () => {
  const own = userInfo().username
  for (const [caller, account] of [
    ['alice', 'alice'],
    ['root', own],
    ['', own],
    ['a\nb', own],
    ['x'.repeat(256), own],
  ] as const)
    it(`is ${account} with SUDO_USER=${JSON.stringify(caller.slice(0, 9))}`, () => {
      assert.equal(callersAccount({ SUDO_USER: caller }), account)
    })

  it('is that of this process without sudo', () => assert.equal(callersAccount({}), own))
})
