import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { asFlags, type ImportOptions, noImportOptions } from '../../src/exchange/import-options.ts'
import { ImportReader } from '../../src/exchange/import-reader.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { draftsOf, faultsOf, read } from './read-text.ts'

/** What a section does not say, an import leaves as it is. */
const labelsPatch = {}

const WINDOWS_PATH = 'holds a backslash or begins with "//", which Windows may take for another host'

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
    const text = `RemoteCommand x
User early
Include other
Host ok ok2
  HostName a b
  IdentityFile %d/id
  Port 22
  Port 23
Host "open
Host tok
  HostName %n.example
Host percent
  User %u
Host far
  HostName far.example
  Port 70000
Host
Match user x
  User x
`
    assert.deepEqual(faultsOf('ssh-config', text), [
      '3 Include cannot be followed: only the command reads other files',
      '5 HostName must have one value',
      '9 row has a quote without an end',
      '11 HostName holds a token that only ssh can expand; of those, %h and %% are known',
      '16 port must be an integer from 1 to 65535',
      '17 Host names nothing',
      '18 Match cannot be followed, nor the lines up to the next Host or Match: only all, host and originalhost can',
      '1 RemoteCommand cannot be kept: it chooses the way to a host, or what runs there',
      '6 IdentityFile holds "%" or "${", which ssh may expand; so for 2 hosts',
    ])
  })

  it('is one fault for all hosts without a username, and one for all lines of a keyword', () => {
    const rows = Array.from({ length: 300 }, (_, i) => `Host h${i} g${i}\n  ProxyCommand x\n`)
    const { faults, faultCount } = read('ssh-config', `${rows.join('')}Match user x\n`, 4096)
    assert.equal(faultCount, 601)
    assert.deepEqual(
      faults.map(({ field, line, lines, more, name }) => [field, line, lines, more, name]),
      [
        ['ProxyCommand', 2, [2, 4, 6], 297, undefined],
        ['Match', 601, undefined, undefined, undefined],
        ['User', 1, [1, 3, 5], 297, undefined],
      ],
    )
    assert.equal(
      faults[2]?.detail,
      'is missing; a configuration has a username; give user=NAME; so for 600 hosts',
    )
  })

  it('fills in from patterns and Match, and takes the first value', () => {
    const text =
      'Port 2200\nHost a b\n  HostName %h.example\n  Port 1\nMatch host a.*\n  User one\nHost *\n  User two\n'
    assert.deepEqual(
      draftsOf('ssh-config', text).map(({ name, hostname, port, username }) => [
        name,
        hostname,
        port,
        username,
      ]),
      [
        ['a', 'a.example', 2200, 'one'],
        ['b', 'b.example', 2200, 'two'],
      ],
    )
  })

  it('leaves out what cannot be kept where that is wanted, and names it', () => {
    const options: ImportOptions = { ...noImportOptions, isSkipping: true, user: 'ops' }
    const text =
      'Include x\nHost a\n  RemoteCommand x\n  ForwardAgent yes\nHost b b2\n  Port 70000\nHost c\n  ProxyCommand x\n'
    const { drafts, faults, warnings } = read('ssh-config', text, 7, 100, undefined, options)
    assert.deepEqual([faults, drafts.map(({ name, username }) => [name, username])], [[], [['a', 'ops']]])
    assert.deepEqual(warnings, [
      { line: 1, detail: 'left out: Include cannot be followed: only the command reads other files' },
      {
        line: 6,
        detail: 'left out: port must be an integer from 1 to 65535; of "b" and "b2"',
      },
      { line: 7, name: 'c', detail: 'left out: Host cannot be reached without its ProxyCommand' },
      {
        line: 8,
        detail:
          'left out: ProxyCommand cannot be kept: it names a program that ssh needs to connect; ProxyJump HOST, or exactly ssh -W %h:%p HOST, can be kept',
      },
      {
        line: 3,
        detail: 'left out: RemoteCommand cannot be kept: it chooses the way to a host, or what runs there',
      },
      { line: 4, detail: 'ForwardAgent was left out' },
    ])
    const jumps = 'Host *\n  User u\nHost a\n  ProxyJump web1\nHost b b2\n  ProxyJump x$y\nHost c\n'
    const kept = read('ssh-config', jumps, 7, 100, undefined, options)
    assert.deepEqual(
      kept.drafts.map(({ name }) => name),
      ['a', 'c'],
    )
    assert.deepEqual(kept.warnings, [
      { line: 5, detail: 'left out: Host cannot be reached without its ProxyJump; of "b" and "b2"' },
      {
        line: 6,
        detail:
          'left out: ProxyJump is not [USER@]HOST[:PORT], or several with commas between them; so for 2 hosts',
      },
    ])
    const none = read('ssh-config', 'Host b\n  Port 70000\n', 7, 100, undefined, options)
    assert.deepEqual(none.faults, [
      { field: 'document', detail: 'has no record left without what is left out' },
      { line: 2, name: 'b', field: 'port', detail: 'must be an integer from 1 to 65535' },
    ])
    const missing = read('ssh-config', 'Host b\n', 7, 100, undefined, {
      ...noImportOptions,
      spell: asFlags.spell,
    })
    assert.equal(missing.faults[0]?.detail, 'is missing; a configuration has a username; give --user NAME')
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
        '3 ProxyJump is not [USER@]HOST[:PORT], or several with commas between them',
      ])
    })
  }

  for (const [path, detail] of [
    ['%d/id', 'holds "%" or "${", which ssh may expand'],
    ['"a$' + '{HOME}"', 'holds "%" or "${", which ssh may expand'],
    ['""', 'is empty'],
    ['"C:\\\\keys\\\\id"', WINDOWS_PATH],
    ['"\\\\\\\\host\\\\share\\\\id"', WINDOWS_PATH],
    ['//host/share/id', WINDOWS_PATH],
  ]) {
    it(`refuses IdentityFile ${path}`, () => {
      const text = `Host a\n  User x\n  IdentityFile ${path}\n`
      assert.deepEqual(faultsOf('ssh-config', text), [`3 IdentityFile ${detail}`])
    })
  }

  it('refuses a path that is too long for a label', () => {
    const text = `Host a\n  User x\n  IdentityFile ${'x'.repeat(256)}\n`
    assert.deepEqual(faultsOf('ssh-config', text), [
      '3 labels.ssh.identityfile must not be longer than 255 characters',
    ])
  })

  it('treats a file without a Host as an error, not as an empty import', () => {
    for (const text of ['', '\n', '# nothing\n'])
      assert.deepEqual(faultsOf('ssh-config', text), ['1 document has no Host with a plain name'])
  })

  it('loses only a line that is too long, however long it is', () => {
    const text = `Host a\n  User x\n  Port ${'x'.repeat(16 * 1024 * 1024)}\n#${'x'.repeat(100_000)}\n  Nonsense\n`
    assert.deepEqual(faultsOf('ssh-config', text, 65_536), [
      `3 row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters`,
      '5 Nonsense is not a keyword of ssh that connbook knows',
    ])
  })

  it('is read until what is kept of it takes the memory that it may have', () => {
    const reader = new ImportReader('ssh-config', 100, { memoryMax: 1024 * 1024 })
    for (let i = 0; i < 100; i++) reader.read(Buffer.from('Host a\n  User x\n'.repeat(100)))
    assert.match(reader.end().faults[0]?.detail ?? '', /^needs more than 1\.0 MiB of memory/)
  })
})
