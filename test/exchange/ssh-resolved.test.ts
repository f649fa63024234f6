import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { LineReader } from '../../src/exchange/import-text.ts'
import { type LocatedFault, SshConfiguration } from '../../src/exchange/ssh-configuration.ts'
import { resolveHosts } from '../../src/exchange/ssh-resolved.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'

/** Reads a configuration without files that it includes. */
function resolve(text: string, username?: string, stepsMax?: number) {
  const faults: LocatedFault[] = []
  const onFault = (fault: LocatedFault) => void faults.push(fault)
  const configuration = new SshConfiguration(onFault)
  const open = configuration.openFile()
  const lines = new LineReader()
  for (const line of [...lines.read(Buffer.from(text)), ...lines.end()]) configuration.takeLine(open, line)
  const hosts = resolveHosts(configuration, username, onFault, stepsMax)
  faults.sort((a, b) => a.location.order - b.location.order)
  return {
    hosts: hosts.map(({ draft, location }) => [
      location.line,
      draft.name,
      draft.hostname,
      draft.port,
      draft.username,
    ]),
    labels: hosts.map(({ draft }) => draft.labelsPatch),
    faults: faults.map(
      ({ location, name, field, detail }) => `${location.line} ${name ?? '-'} ${field} ${detail}`,
    ),
  }
}

describe('the hosts of an SSH configuration', () => {
  it('take each value from the first section that applies', () => {
    const text = `\ufeffPort 2200
Host a b
  HostName %h.example
  User one
Host b
  HostName late.example
  Port 1
Host * !a
  User two
  User three
Host c
`
    assert.deepEqual(resolve(text), {
      hosts: [
        [2, 'a', 'a.example', 2200, 'one'],
        [2, 'b', 'b.example', 2200, 'one'],
        [11, 'c', 'c', 2200, 'two'],
      ],
      labels: Array(3).fill({ 'ssh.proxyjump': null, 'ssh.identityfile': null }),
      faults: [],
    })
  })

  it('have the given username where no section has one', () => {
    assert.deepEqual(resolve('Host a\nHost b\n User x', 'ops').hosts, [
      [1, 'a', 'a', 22, 'ops'],
      [2, 'b', 'b', 22, 'x'],
    ])
    assert.deepEqual(resolve('Host a').faults, [
      '1 a User is missing; a configuration has a username; give --user NAME',
    ])
  })

  it('report each value that is left out, and are kept although a label does not fit', () => {
    const text = `Host a b
  User x
  IdentityFile ~/one
  IdentityFile ~/one
  IdentityFile ~/two
  ForwardAgent yes
Host c
  User x
  IdentityFile %d/key
  ProxyJump ssh://j/path
Host d
  User x
  ProxyCommand nc %h %p
Host *
  ProxyJump last
  "Port 1
Match host a
  User never
Host "e
  User never
Host
Host f !f
Host g
  User %u
`
    const { hosts, labels, faults } = resolve(text)
    assert.deepEqual(
      hosts.map(([, name]) => name),
      ['a', 'b', 'c', 'd'],
    )
    assert.deepEqual(labels, [
      { 'ssh.proxyjump': 'last', 'ssh.identityfile': '~/one' },
      { 'ssh.proxyjump': 'last', 'ssh.identityfile': '~/one' },
      { 'ssh.proxyjump': null, 'ssh.identityfile': null },
      // ssh takes the first of ProxyCommand and ProxyJump.
      { 'ssh.proxyjump': null, 'ssh.identityfile': null },
    ])
    const notKept = 'cannot be kept: only HostName, Port, User, ProxyJump and IdentityFile can'
    assert.deepEqual(faults, [
      '5 - IdentityFile is not the first; a record can keep one; so for 2 hosts',
      `6 - ForwardAgent ${notKept}`,
      '9 c IdentityFile holds "%" or "${", which ssh may expand',
      '10 c ProxyJump is not [USER@]HOST[:PORT], or several with commas between them',
      `13 - ProxyCommand ${notKept}`,
      `16 - "Port ${notKept}`,
      '17 - Match cannot be taken, nor the lines up to the next Host: only Host sections can',
      '19 - row has a quote without an end',
      '21 - Host names nothing',
      '22 f Host never applies to this name: a pattern with "!", or the Host around its Include, is against it',
      '23 g User holds "%" or "${", which ssh may expand',
    ])
  })

  it('have a ProxyJump that is a URI as a label has it', () => {
    const text = `Host a
  ProxyJump ssh://me@jump:2200
Host b
  ProxyJump ssh://first,me@second,ssh://third:22/
Host c
  ProxyJump ssh://
`
    const { labels, faults } = resolve(text, 'x')
    assert.deepEqual(
      labels.map((patch) => patch?.['ssh.proxyjump']),
      ['me@jump:2200', 'first,me@second,third:22', null],
    )
    assert.deepEqual(faults, ['6 c ProxyJump is not [USER@]HOST[:PORT], or several with commas between them'])
  })

  it('lose only the line that is too long, and what stands below it if it may begin another section', () => {
    const long = 'x'.repeat(IMPORT_ROW_CHARACTERS_MAX)
    const text = `\ufeff#${long}
Host a
  #${long}
  IdentityFile ${long}
  Port 2200
Host ${long}
  Port 1
  ServerAliveInterval ${long}
Host b
  Port 2201
${' '.repeat(long.length)} Port 1
  Port 2
`
    const { hosts, faults } = resolve(text, 'x')
    assert.deepEqual(hosts, [
      [2, 'a', 'a', 2200, 'x'],
      [9, 'b', 'b', 2201, 'x'],
    ])
    assert.deepEqual(
      faults,
      [4, 6, 11].map((line) => `${line} - row is longer than 16384 characters`),
    )
  })

  it('have no limit on their number without patterns', () => {
    const text = Array.from({ length: 2_000 }, (_, i) => `Host h${i}\n  Port ${1 + i}`).join('\n')
    assert.equal(resolve(`${text}\nHost *\n  User x`, undefined, 100_000).hosts.length, 2_000)
  })

  it('are refused when lines and names are too many to be held', () => {
    const configuration = new SshConfiguration(() => {}, 4)
    const open = configuration.openFile()
    configuration.takeLine(open, 'Host a b c # d')
    assert.throws(() => configuration.takeLine(open, 'Port 1'), InvalidInputError)
  })

  for (const [what, pattern] of [
    ['many patterns', (i: number) => `*${i}`],
    ['patterns that go back often', (i: number) => `${'*a'.repeat(100)}${i}`],
  ] as const) {
    it(`are refused when there are too many with ${what} to compare each with each`, () => {
      const sections = Array.from({ length: 1_000 }, (_, i) => `Host ${pattern(i)}\n  Port 1`).join('\n')
      const hosts = Array.from({ length: 100 }, (_, i) => `Host ${'a'.repeat(200)}${i}`).join('\n')
      assert.throws(() => resolve(`${sections}\n${hosts}`, 'x', 100_000), InvalidInputError)
    })
  }
})
