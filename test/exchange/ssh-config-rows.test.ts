import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { draftsOf, faultsOf } from './read-text.ts'

/** A section without ProxyJump and IdentityFile removes their labels, and no others. */
const labelsPatch = { 'ssh.proxyjump': null, 'ssh.identityfile': null }

describe('an ssh-config import', () => {
  it('imports each literal name of a Host line, with the defaults of ssh', () => {
    const text = `\ufeff# a comment
Host web1 web2 # both
  HostName=%h.example.net
\tPORT 2222
  user "ops \\"night\\""

host 'db/main'
  HostName 192.0.2.7
  User = 'DOMAIN\\joe'
Host v6
  HostName fe80::1%%eth0
  User x`
    assert.deepEqual(draftsOf('ssh-config', text.replaceAll('\n', '\r\n')), draftsOf('ssh-config', text))
    assert.deepEqual(draftsOf('ssh-config', text), [
      { name: 'web1', hostname: 'web1.example.net', port: 2222, username: 'ops "night"', labelsPatch },
      { name: 'web2', hostname: 'web2.example.net', port: 2222, username: 'ops "night"', labelsPatch },
      { name: 'db/main', hostname: '192.0.2.7', port: 22, username: 'DOMAIN\\joe', labelsPatch },
      { name: 'v6', hostname: 'fe80::1%eth0', port: 22, username: 'x', labelsPatch },
    ])
  })
  it('reports every line that a record cannot express, and skips none silently', () => {
    const text = `Compression yes
User early
Host *
  User x
  ForwardAgent yes
Host a !b c?
  User x
Match host a
  User x
Include other
Host ok ok2
  HostName a b
  IdentityFile %d/id
  Port 22
  Port 23
Host "open
Host tok
  HostName %n.example
  User x
Host percent
  User %u
Host far
  HostName far.example
  Port 70000
  User x
Host
Host far
  User x
`
    assert.deepEqual(faultsOf('ssh-config', text), [
      '1 Compression cannot be kept: only HostName, Port, User, ProxyJump and IdentityFile can',
      '2 User stands before the first Host',
      '3 Host "*" is a pattern; only literal names can be taken',
      '5 ForwardAgent cannot be kept: only HostName, Port, User, ProxyJump and IdentityFile can',
      '6 Host "!b" is a pattern; only literal names can be taken',
      '6 Host "c?" is a pattern; only literal names can be taken',
      '8 Match cannot be taken: only sections for literal names can',
      '10 Include cannot be taken: only sections for literal names can',
      '11 User is missing; a configuration has a username',
      '11 User is missing; a configuration has a username',
      '12 HostName must have one value',
      '15 Port is given twice for the same Host',
      '16 row has a quote without an end',
      '17 HostName holds a token that only ssh can expand; of those, %h and %% are known',
      '20 User holds "%" or "${", which ssh may expand',
      '22 port must be an integer from 1 to 65535',
      '26 Host names nothing',
      '27 name is the same as on line 22',
    ])
  })

  it('keeps ProxyJump and IdentityFile as labels', () => {
    const text = `Host a
  User x
  ProxyJump ops@bastion:22,[2001:db8::1]
Host b
  User x
  identityfile "~/.ssh/a b"
`
    assert.deepEqual(
      draftsOf('ssh-config', text).map((draft) => draft.labelsPatch),
      [
        { ...labelsPatch, 'ssh.proxyjump': 'ops@bastion:22,[2001:db8::1]' },
        { ...labelsPatch, 'ssh.identityfile': '~/.ssh/a b' },
      ],
    )
  })

  const badJumps = [
    '-oProxyCommand=x',
    'a;b',
    '"a b"',
    'a,-b',
    'a:0',
    'a:65536',
    'a@b@c',
    'ssh://a/path',
    '%h',
    'a,',
    '$(x)',
    '2001:db8::1',
    '""',
  ]
  for (const jump of badJumps) {
    it(`refuses ProxyJump ${jump}`, () => {
      assert.deepEqual(faultsOf('ssh-config', `Host a\n  User x\n  ProxyJump ${jump}\n`), [
        '1 ProxyJump is not [USER@]HOST[:PORT], or several with commas between them',
      ])
    })
  }

  for (const [path, detail] of [
    ['%d/id', 'holds "%" or "${", which ssh may expand'],
    ['"a$' + '{HOME}"', 'holds "%" or "${", which ssh may expand'],
    ['""', 'is empty'],
  ]) {
    it(`refuses IdentityFile ${path}`, () => {
      const text = `Host a\n  User x\n  IdentityFile ${path}\n`
      assert.deepEqual(faultsOf('ssh-config', text), [`1 IdentityFile ${detail}`])
    })
  }

  it('refuses a path that is too long for a label', () => {
    const text = `Host a\n  User x\n  IdentityFile ${'x'.repeat(256)}\n`
    assert.deepEqual(faultsOf('ssh-config', text), [
      '1 labels.ssh.identityfile must not be longer than 255 characters',
    ])
  })

  it('treats a file without a Host as an error, not as an empty import', () => {
    for (const text of ['', '\n', '# nothing\n'])
      assert.deepEqual(faultsOf('ssh-config', text), ['1 document has no Host'])
  })

  it('stops at a line that is too long', () => {
    const text = `Host a\n  User x\n#${'x'.repeat(3 * IMPORT_ROW_CHARACTERS_MAX)}\nHost b\n`
    assert.deepEqual(faultsOf('ssh-config', text, 1000), [
      `3 row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`,
    ])
  })
})
