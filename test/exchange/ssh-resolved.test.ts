import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { LineReader } from '../../src/exchange/import-text.ts'
import {
  type LocatedFault,
  SSH_HOST_LINES_MAX,
  SshConfiguration,
} from '../../src/exchange/ssh-configuration.ts'
import { resolveHosts, resolveHostsInSlices } from '../../src/exchange/ssh-resolved.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import type { LabelsPatch } from '../../src/store/labels.ts'

/** Reads a configuration without files that it includes. */
function resolve(text: string, username?: string, stepsMax?: number) {
  const faults: LocatedFault[] = []
  const onFault = (fault: LocatedFault) => void faults.push(fault)
  const configuration = new SshConfiguration(onFault)
  const open = configuration.openFile()
  const lines = new LineReader()
  for (const line of [...lines.read(Buffer.from(text)), ...lines.end()]) configuration.takeLine(open, line)
  const hosts = resolveHosts(configuration, { username, remedy: '--user NAME' }, onFault, stepsMax)
  faults.sort((a, b) => a.location.order - b.location.order)
  return {
    hosts: hosts.map(({ draft, location }) => [
      location.line,
      draft.name,
      draft.hostname,
      draft.port,
      draft.username,
    ]),
    labels: hosts.map(({ draft }) => setOf(draft.labelsPatch)),
    warnings: configuration.warnings.map(({ line, detail }) => `${line} ${detail}`),
    faults: faults.map(
      ({ location, name, hosts, field, detail }) =>
        `${location.line} ${name ?? '-'} ${field} ${detail}${hosts === undefined ? '' : `; so for ${hosts} hosts`}`,
    ),
  }
}

/** The labels that a patch sets. */
function setOf(patch: LabelsPatch = {}) {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null))
}

describe('the hosts of an SSH configuration', () => {
  it('are named by a bounded number of lines each', () => {
    const lines = (count: number) => 'Host x\n Port 1\n'.repeat(count)
    assert.equal(resolve(lines(SSH_HOST_LINES_MAX), 'u').hosts.length, 1)
    assert.throws(() => resolve(lines(SSH_HOST_LINES_MAX + 1), 'u'), {
      name: 'InvalidInputError',
      message: /^It names the host "x" in more than 10000 Host lines, and line 20001 is one more; leave out/,
    })
  })

  it('are found in turns, however many sections there are', () => {
    const configuration = new SshConfiguration(() => {})
    const open = configuration.openFile()
    const lines = new LineReader()
    const text = `Host a\n${'Host *\n Port 1\n'.repeat(5_000)}`
    for (const line of [...lines.read(Buffer.from(text)), ...lines.end()]) configuration.takeLine(open, line)
    const work = resolveHostsInSlices(configuration, { username: 'u', remedy: '' }, () => {})
    let slices = 1
    while (!work.next().done) slices += 1
    assert.ok(slices >= 20, `${slices} slices`)
  })

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
      labels: [{}, {}, {}],
      warnings: [],
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

  it('report each value that is left out, and are kept although a label other than the way does not fit', () => {
    const text = `Host a b
  User x
  IdentityFile ~/one
  IdentityFile ~/one
  IdentityFile ~/two
  ForwardAgent yes
Host c
  User x
  IdentityFile %d/key
Host c2
  User x
  ProxyJump ssh://j/path
Host d
  User x
  ProxyCommand nc -x proxy %h %p
Host *
  ProxyJump last
  "Port 1
Match user a
  User never
Host "e
  User never
Host
Host f !f
Host g
  User %u
`
    const { hosts, labels, faults, warnings } = resolve(text)
    assert.deepEqual(warnings, [
      '6 ForwardAgent was left out',
      '5 IdentityFile was left out where it is not the first: a record keeps one',
    ])
    assert.deepEqual(
      hosts.map(([, name]) => name),
      ['a', 'b', 'c'],
    )
    assert.deepEqual(labels, [
      { 'ssh.proxyjump': 'last', 'ssh.identityfile': '~/one' },
      { 'ssh.proxyjump': 'last', 'ssh.identityfile': '~/one' },
      { 'ssh.proxyjump': 'last' },
    ])
    assert.deepEqual(faults, [
      '9 c IdentityFile holds "%" or "${", which ssh may expand',
      '12 c2 ProxyJump is not [USER@]HOST[:PORT], or several with commas between them',
      '15 - ProxyCommand cannot be kept: it names a program that ssh needs to connect; ProxyJump HOST, or exactly ssh -W %h:%p HOST, can be kept',
      '18 - "Port is not a keyword of ssh that connbook knows',
      '19 - Match cannot be followed, nor the lines up to the next Host or Match: only all, host and originalhost can',
      '21 - row has a quote without an end',
      '23 - Host names nothing',
      '24 f Host never applies to this name: a pattern with "!", or the Host around its Include, is against it',
      '26 g User holds "%" or "${", which ssh may expand',
    ])
  })

  it('take a ProxyCommand that does nothing but jump for a ProxyJump; ssh takes the first of the two', () => {
    const text = `Host a
  ProxyCommand ssh -W %h:%p bastion
Host b
  ProxyCommand ssh bastion -W %h:%p
Host c
  ProxyCommand ssh -q -W [%h]:%p -p 2200 jump@bastion # comment
Host d
  ProxyCommand ssh -i key -W %h:%p bastion
Host e
  ProxyCommand none
Host f
  ProxyJump first
Host *
  ProxyJump last
  ProxyCommand nc -x proxy %h %p
`
    const { hosts, labels, faults } = resolve(text, 'u')
    assert.deepEqual(
      hosts.map(([, name], i) => [name, labels[i]?.['ssh.proxyjump']]),
      [
        ['a', 'bastion'],
        ['b', 'bastion'],
        ['c', 'jump@bastion:2200'],
        ['e', 'none'],
        ['f', 'first'],
      ],
    )
    assert.deepEqual(
      faults.map((fault) => fault.slice(0, 17)),
      ['8 - ProxyCommand ', '15 - ProxyCommand'],
    )
  })

  it('follow Match by host names as ssh does: with the HostName that the lines above give', () => {
    const text = `Match originalhost m2
  HostName 192.0.2.9
Match host m1
  IdentityFile early
Host m1
  HostName 192.0.2.1
Host m1 m2 m3
  User u
Match host 192.0.2.*,!192.0.2.9
  ProxyJump bastion
Match host M3 !originalhost m1,m2
  Compression yes
Match !all
  Port 1
Match all
  Port 2200
`
    const { hosts, labels, faults } = resolve(text)
    assert.deepEqual(faults, [])
    assert.deepEqual(hosts, [
      [5, 'm1', '192.0.2.1', 2200, 'u'],
      [7, 'm2', '192.0.2.9', 2200, 'u'],
      [7, 'm3', 'm3', 2200, 'u'],
    ])
    assert.deepEqual(labels, [
      { 'ssh.proxyjump': 'bastion', 'ssh.identityfile': 'early' },
      {},
      { 'ssh.compression': 'yes' },
    ])
  })

  for (const words of [
    'exec x',
    'user x',
    'host',
    'all host x',
    '',
    'canonical',
    'final all',
    'host "x',
    'x=y',
  ]) {
    it(`have a fault for Match ${words}, and for no line below it`, () => {
      const { hosts, faults } = resolve(
        `Host a\n  User x\nMatch ${words}\n  Port 1\n  Nonsense x\nHost b\n  User y\n`,
      )
      assert.equal(hosts.length, 2)
      assert.deepEqual(
        faults.map((fault) => fault.replace(/ (?:Match|row) .*/, '')),
        ['3 -'],
      )
    })
  }

  it('keep as labels what neither runs a command, nor gives a secret, nor weakens a check', () => {
    const text = `Host a
  User x
  ServerAliveInterval 1M
  compression YES
  IdentitiesOnly True
  PubkeyAcceptedKeyTypes +ssh-rsa
  Ciphers ^aes256-ctr,aes128-ctr
  RequestTTY force
  LogLevel VERBOSE
  HostKeyAlias web.example
  LocalForward 8080 db:5432
  LocalForward localhost:8081 [2001:db8::1]:80
  LocalForward *:8082 db:5432
  LocalForward 8083 /run/socket
  LocalForward 8084 db:postgresql
  LocalForward [127.0.0.1]:8443 [db]:443
  DynamicForward 1080
  DynamicForward 0.0.0.0:1081
  StrictHostKeyChecking no
  Port 0022
Host *
  LocalForward 127.0.0.1:9090 x:1
  ServerAliveInterval 5
  StrictHostKeyChecking no
`
    const { hosts, labels, faults, warnings } = resolve(text)
    assert.deepEqual([hosts, faults], [[[1, 'a', 'a', 22, 'x']], []])
    assert.deepEqual(labels, [
      {
        'ssh.ciphers': '^aes256-ctr,aes128-ctr',
        'ssh.compression': 'yes',
        'ssh.dynamicforward': '1080',
        'ssh.hostkeyalias': 'web.example',
        'ssh.identitiesonly': 'yes',
        'ssh.localforward':
          '8080 db:5432,localhost:8081 [2001:db8::1]:80,[127.0.0.1]:8443 [db]:443,127.0.0.1:9090 x:1',
        'ssh.loglevel': 'verbose',
        'ssh.pubkeyacceptedalgorithms': '+ssh-rsa',
        'ssh.requesttty': 'force',
        'ssh.serveraliveinterval': '1m',
      },
    ])
    const wide = 'was left out: it listens for other machines, too'
    assert.deepEqual(warnings, [
      `13 LocalForward ${wide}`,
      '14 LocalForward was left out: it leads from or to a socket',
      '15 LocalForward was left out: it names a port by its service',
      `18 DynamicForward ${wide}`,
      '19 StrictHostKeyChecking was left out; ssh then checks hosts as usual: lines 19 and 24',
    ])
  })

  for (const [line, detail] of [
    ['Ciphers -aes*', 'begins with "-"; only a list, also one after "+" or "^", can be kept'],
    ['Ciphers aes128-ctr,new@x', 'names "new@x", which not every OpenSSH from 8.7 on knows'],
    ['HostKeyAlgorithms ssh-dss', 'names "ssh-dss", which not every OpenSSH from 8.7 on knows'],
    ['Compression true', 'is not yes or no'],
    ['ServerAliveInterval soon', 'is not a time, such as 30 or 1m'],
    ['ConnectionAttempts 1m', 'is not a number from 1'],
    ['HostKeyAlias a/b', 'is not a plain name'],
    ['HostKeyAlias %h', 'is not a plain name'],
    ['LocalForward 8080', 'is not [HOST:]PORT HOST:PORT, and ssh then refuses the whole file'],
    ['LocalForward 8080 db:70000', 'is not [HOST:]PORT HOST:PORT, and ssh then refuses the whole file'],
    ['LogLevel loud', 'is not quiet, fatal, error, info, verbose, debug, debug1, debug2 or debug3'],
    ['KnownHostsCommand /bin/x', 'cannot be kept: it names a program that ssh needs to connect'],
    ['RemoteCommand x', 'cannot be kept: it chooses the way to a host, or what runs there'],
    ['CanonicalizeHostname yes', 'cannot be kept: it chooses the way to a host, or what runs there'],
    ['Nonsense x', 'is not a keyword of ssh that connbook knows'],
  ] as const) {
    it(`have a fault for ${line}, on its own line`, () => {
      const { faults } = resolve(`Host a\n  User x\n  ${line}\n`)
      assert.deepEqual(
        faults.map((fault) => fault.replace(/ [a-] (\w+) /, ' $1 ')),
        [`3 ${line.replace(/ .*/, '')} ${detail}`],
      )
    })
  }

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
      ['me@jump:2200', 'first,me@second,third:22'],
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
