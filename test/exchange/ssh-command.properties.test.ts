import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { sshArguments } from '../../src/exchange/ssh-command.ts'
import { parseIPv6 } from '../../src/network.ts'
import { missing } from '../support/debian.ts'
import { extent } from '../support/extent.ts'
import { holdFor, holdLaterFor } from '../support/properties/hold-property.ts'

const run = promisify(execFile)

const hostile = fc.string({
  unit: fc.constantFrom(...'-o@%$}{`"\'\\;&|()<> \n\t\u202eabP=:/[].,0'),
  maxLength: 12,
})
const options = fc.constantFrom(
  '-oProxyCommand=touch pwned',
  '-l',
  '--',
  '-o',
  '%h',
  '$HOME',
  '~',
  'none',
  'a b',
)
const oneOf = (usual: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 6, arbitrary: usual },
    { weight: 1, arbitrary: hostile },
    { weight: 1, arbitrary: options },
  )
const hosts = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV6().map((address) => `[${address}]`),
)
const records = fc.record({
  name: oneOf(fc.constant('web1')),
  hostname: oneOf(hosts),
  port: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 65_535 }) },
    fc.constantFrom(0, -1, 1.5, 1e9),
  ),
  username: oneOf(fc.constantFrom('deploy', 'first.last', 'a b', 'é')),
  labels: fc.record(
    {
      'ssh.proxyjump': oneOf(fc.constantFrom('bastion', 'ops@jump:2222,b', 'none')),
      'ssh.identityfile': oneOf(fc.constantFrom('~/keys/a b', '-k', 'none')),
      env: oneOf(fc.constant('prod')),
    },
    { requiredKeys: [] },
  ),
})

describe('sshArguments', () => {
  it('has values only behind options, and a host that is none', (t) => {
    holdFor(t, records, (record) => {
      const args = sshArguments(record)
      if (typeof args === 'string') return assert.match(args, /^has a /)
      const host = args.at(-1) ?? ''
      assert.match(host, /^[^-]/)
      assert.equal(host, record.hostname.replace(/^\[(.*)\]$/, '$1'))
      const pairs = args.slice(0, -1)
      for (let at = 0; at < pairs.length; at += 2)
        assert.ok(['-p', '-l', '-J', '-i'].includes(pairs[at] ?? ''))
      assert.equal(pairs.length % 2, 0)
      for (const each of args) assert.doesNotMatch(each, /\p{Cc}/u)
    })
  })

  it('means to ssh what the record says', { skip: missing('ssh') }, async (t) => {
    const check = async (record: Parameters<typeof sshArguments>[0]) => {
      const args = sshArguments(record)
      if (typeof args === 'string') return
      const { stdout } = await run('ssh', ['-F', 'none', '-G', ...args])
      const told = new Map(
        stdout.split('\n').map((line) => [line.split(' ', 1)[0], line.replace(/^\S+ /, '')]),
      )
      const host = args.at(-1) ?? ''
      // ssh writes IPv6 addresses in their shortest form.
      const sameAs = (text: string) => parseIPv6(text)?.toString('hex') ?? text.toLowerCase()
      assert.equal(sameAs(told.get('hostname') ?? ''), sameAs(host))
      assert.equal(told.get('user'), record.username)
      assert.equal(told.get('port'), String(record.port))
      assert.equal(told.get('proxycommand'), undefined)
    }
    await holdLaterFor(t, records, check, extent({ quick: 40, full: 2_000 }))
  })
})
