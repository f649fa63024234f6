import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ImportOptions, noImportOptions } from '../../src/exchange/import-options.ts'
import { ImportReader } from '../../src/exchange/import-reader.ts'
import { draftsOf, read } from './read-text.ts'

const asLabels: ImportOptions = { ...noImportOptions, extra: 'labels' }
const user = { ansible_user: 'ops' }

function inventory(hostvars: object, groups: object = {}): string {
  return JSON.stringify({ _meta: { hostvars }, all: { children: ['ungrouped'] }, ...groups }, undefined, 1)
}

/** `name field detail` of each fault. */
function faultsOf(text: string, options?: ImportOptions) {
  const { faults } = read('ansible', text, 97, 100, undefined, options)
  return faults.map(({ line, name, field, detail }) => `${name ?? line ?? ''} ${field} ${detail}`)
}

describe('what ansible-inventory --list prints', () => {
  it('becomes a record a host, with the defaults of ssh, and with ports and users as numbers or texts', () => {
    const text = inventory({
      full: { ansible_host: '192.0.2.1', ansible_port: 2222, ansible_user: 'ops' },
      texts: { ansible_host: '::1', ansible_port: '0023', ansible_user: 1000 },
      bare: { ansible_user: 'u', ansible_host: null },
      old: { ansible_host: 'a', ansible_ssh_host: 'b', ansible_ssh_port: 24, ...user, ansible_port: 25 },
      plain: { ansible_user: { __ansible_unsafe: '{{ x }}' } },
    })
    const found = draftsOf('ansible', text).map((draft) => [
      draft.name,
      draft.hostname,
      draft.port,
      draft.username,
      draft.labelsPatch,
    ])
    const none = { group: null }
    assert.deepEqual(found, [
      ['full', '192.0.2.1', 2222, 'ops', none],
      ['texts', '::1', 23, '1000', none],
      ['bare', 'bare', 22, 'u', none],
      ['old', 'b', 24, 'ops', none],
      ['plain', 'plain', 22, '{{ x }}', none],
    ])
  })

  it('has all groups that hold a host, in their order, but all and ungrouped; also for hosts without variables', () => {
    const text = inventory(
      { a: user },
      {
        web: { children: ['eu-west', 'deep'] },
        ungrouped: { hosts: ['d'] },
        'eu-west': { hosts: ['b', 'a', 'a'] },
        deep: { children: ['deeper'] },
        deeper: { hosts: ['c'] },
        zoo: { hosts: ['a'], children: ['deeper'] },
      },
    )
    const { drafts, faults } = read('ansible', text, 7, 100, undefined, {
      ...noImportOptions,
      defaults: [['username', 'u']],
    })
    assert.deepEqual(faults, [])
    assert.deepEqual(Object.fromEntries(drafts.map((draft) => [draft.name, draft.labelsPatch?.group])), {
      a: 'web,eu-west,zoo',
      d: null,
      b: 'web,eu-west',
      c: 'web,deep,deeper,zoo',
    })
  })

  it('has the jump of a host as a label, however Ansible has it, and names the other arguments', () => {
    const jumps = {
      "-J 'ops@[2001:db8::1]:22,b'": 'ops@[2001:db8::1]:22,b',
      '-J bastion': 'bastion',
      '-Jbastion': 'bastion',
      '-qJ bastion': 'bastion',
      '-J ssh://ops@bastion:2200': 'ops@bastion:2200',
      '-J none': 'none',
      '-o ProxyJump=bastion': 'bastion',
      '-oProxyJump=bastion': 'bastion',
      '-o ProxyJump="bastion"': 'bastion',
      '-o "ProxyJump bastion"': 'bastion',
      '-o ProxyCommand="ssh -W %h:%p bastion"': 'bastion',
      "-o ProxyCommand='ssh -q -W [%h]:%p -p 2200 ops@bastion'": 'ops@bastion:2200',
      '-o \'ProxyCommand="ssh" bastion -qW %h:%p -l ops\'': 'ops@bastion',
      '-o ProxyCommand=ssh\\ -W\\ %h:%p\\ 2001:db8::1': '[2001:db8::1]',
      '-o StrictHostKeyChecking=no -C -J bastion -o ServerAliveInterval=5': 'bastion',
      '-J bastion -o ProxyCommand="nc %h %p"': 'bastion',
      '-C -o ForwardAgent=yes': undefined,
      ' ': null,
    }
    const hosts = Object.keys(jumps).map((args, i) => [`h${i}`, { ...user, ansible_ssh_common_args: args }])
    const { drafts, warnings } = read('ansible', inventory(Object.fromEntries(hosts)))
    assert.deepEqual(
      drafts.map(({ labelsPatch = {} }) => labelsPatch),
      Object.values(jumps).map((jump) => ({
        group: null,
        ...(jump === undefined ? {} : { 'ssh.proxyjump': jump }),
      })),
    )
    const named = '-q of 1 host,StrictHostKeyChecking of 1 host,-C of 2 hosts,ServerAliveInterval of 1 host'
    const all = `${named},ProxyCommand of 1 host,ForwardAgent of 1 host`.split(',')
    const listed = all.map((each) => each.replace(' of', ' in ansible_ssh_common_args of'))
    assert.deepEqual(warnings, [
      { detail: `variables were left out: ${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}` },
    ])
  })

  it('takes the arguments of a host from all variables that Ansible gives to ssh, the first way of them', () => {
    const text = inventory({
      a: { ...user, ansible_ssh_common_args: '', ansible_ssh_extra_args: '-J late' },
      b: {
        ...user,
        ansible_ssh_args: '-C',
        ansible_ssh_common_args: '-J one',
        ansible_ssh_extra_args: '-J two',
      },
      c: { ...user, ansible_ssh_args: '' },
    })
    const { drafts, warnings } = read('ansible', text)
    assert.deepEqual(
      drafts.map(({ labelsPatch }) => labelsPatch?.['ssh.proxyjump']),
      ['late', 'one', undefined],
    )
    assert.match(warnings[0]?.detail ?? '', /-C in ansible_ssh_args .* second way in ansible_ssh_extra_args/)
  })

  const odd = {
    '-o ProxyCommand="nc -x proxy %h %p"':
      'has a ProxyCommand that names a program; ProxyJump, or exactly ssh -W %h:%p HOST, can be kept',
    '-o ProxyCommand="ssh -i ~/.ssh/jump -W %h:%p bastion"':
      'has a ProxyCommand that names a program; ProxyJump, or exactly ssh -W %h:%p HOST, can be kept',
    '-o ProxyCommand="ssh -W other:22 bastion"':
      'has a ProxyCommand that names a program; ProxyJump, or exactly ssh -W %h:%p HOST, can be kept',
    '-J {{jump}}':
      'is a template, "-J {{jump}}", which Ansible fills in only when it connects; write the value as ansible_ssh_common_args',
    "-J 'a b'": 'has a ProxyJump that is not [USER@]HOST[:PORT], or several with commas between them',
    "-J 'a": 'has a quote without an end',
    '-J': 'ends with -J, which needs a value',
    '-F other': 'has -F, which may lead elsewhere',
    '-o HostName=x': 'has HostName, which may lead elsewhere',
    '-o x': 'has "x", which may lead elsewhere',
    bastion: 'has "bastion", which is no option of ssh',
    '--jump': 'has "--jump", which is no option of ssh',
    '-Z': 'has -Z, which is no option of ssh',
  }
  for (const [args, detail] of Object.entries(odd)) {
    it(`is a fault with ${args}: without it a record would lead elsewhere`, () => {
      const { faults } = read(
        'ansible',
        inventory({
          a: { ...user, ansible_ssh_common_args: args },
          b: { ...user, ansible_ssh_common_args: args },
        }),
      )
      assert.deepEqual(faults, [{ name: 'a', field: 'ansible_ssh_common_args', detail, more: 1 }])
    })
  }

  it('leaves the key of a record as it is, unless it names one, or an empty one', () => {
    const keys = {
      '~/.ssh/a b': '~/.ssh/a b',
      '': null,
      '{{ key }}': undefined,
      '%d/key': undefined,
      [`~/${'x'.repeat(254)}`]: undefined,
    }
    for (const [path, key] of Object.entries(keys)) {
      const { drafts, warnings } = read(
        'ansible',
        inventory({ a: { ...user, ansible_private_key_file: path } }),
      )
      const patch = drafts[0]?.labelsPatch ?? {}
      assert.deepEqual(patch, { group: null, ...(key === undefined ? {} : { 'ssh.identityfile': key }) })
      if (key === undefined) assert.match(warnings[0]?.detail ?? '', /ansible_private_key_file of 1 host$/)
      else assert.deepEqual(warnings, [])
    }
  })

  it('has a connection other than ssh as the kind, with the port of that connection', () => {
    const text = inventory({
      a: { ...user, ansible_connection: 'winrm' },
      b: { ...user, ansible_connection: 'ansible.netcommon.netconf' },
      c: { ...user, ansible_connection: 'network_cli', ansible_port: 2222 },
      d: { ...user, ansible_connection: 'ssh' },
      e: { ...user, ansible_connection: 'smart' },
      f: { ...user, ansible_connection: null },
    })
    assert.deepEqual(
      draftsOf('ansible', text).map(({ port, labelsPatch }) => [port, labelsPatch?.kind]),
      [
        [5986, 'winrm'],
        [830, 'ansible.netcommon.netconf'],
        [2222, 'network_cli'],
        [22, null],
        [22, null],
        [22, undefined],
      ],
    )
    assert.deepEqual(faultsOf(inventory({ a: { ...user, ansible_connection: '{{ c }}' } })), [
      'a ansible_connection is a template, "{{ c }}", which Ansible fills in only when it connects; write the value as ansible_connection',
    ])
  })

  it('counts other variables, or makes labels of plain texts and numbers, but of no secret', () => {
    const text = inventory({
      a: {
        ...user,
        env: 'prod',
        connbook_label_role: 'db',
        connbook_label_kind: 'x',
        connbook_label_ssh_proxyjump: 'x',
        'Rack No': 4,
        rate: 1.5,
        on: true,
        list: [{ __ansible_unsafe: 'x' }],
        raw: { __ansible_unsafe: '{{ x }}' },
        vault: { __ansible_vault: 'x' },
        ansible_become_pass: 'hunter2',
        api_token: 'hunter2',
        lines: 'a\nb',
        group: 'x',
        _x: 'x',
        ansible_connection: 'local',
      },
      b: { ...user, env: 'test', ansible_connection: 'ssh' },
    })
    const kept = read('ansible', text, 97, 100, undefined, asLabels)
    assert.deepEqual(
      kept.drafts.map(({ labelsPatch }) => labelsPatch),
      [
        {
          env: 'prod',
          role: 'db',
          'rack-no': '4',
          rate: '1.5',
          raw: '{{ x }}',
          group: null,
          kind: 'local',
        },
        { env: 'test', group: null, kind: null },
      ],
    )
    const left =
      'connbook_label_kind,connbook_label_ssh_proxyjump,on,list,vault,ansible_become_pass,api_token,lines,group,_x'
    const named = left.split(',').map((name) => `${name} of 1 host`)
    assert.deepEqual(kept.warnings, [
      { detail: `variables were left out: ${named.slice(0, -1).join(', ')} and ${named.at(-1)}` },
    ])
    const { drafts, warnings } = read('ansible', text)
    assert.deepEqual(drafts[0]?.labelsPatch, { group: null, kind: 'local' })
    assert.match(warnings[0]?.detail ?? '', /^variables were left out: env of 2 hosts, /)
    assert.ok(!JSON.stringify([kept.warnings, warnings]).includes('hunter2'))
  })

  it('leaves out groups that a label cannot name, and says which', () => {
    const { drafts, warnings } = read(
      'ansible',
      inventory({ a: user }, { 'x,y': { hosts: ['a'] }, ok: { hosts: ['a'] }, ' z': { hosts: ['a'] } }),
    )
    assert.equal(drafts[0]?.labelsPatch?.group, 'ok')
    assert.deepEqual(warnings, [
      { detail: 'groups were left out, which the label group cannot name: "x,y" and " z"' },
    ])
  })

  it('has every fault with the name of the host, all at once, and one for all without a username', () => {
    const text = inventory({
      a: { ansible_port: 'ssh' },
      b: { ansible_host: '{{ ip }}', ansible_port: 70000, ansible_user: { __ansible_vault: 'x' } },
      c: { ansible_user: ['x'], ansible_port: true, ansible_host: 'a b' },
      d: {},
      e: { ...user, env: 'x', connbook_label_env: 'y' },
    })
    assert.deepEqual(faultsOf(text, asLabels), [
      'a username is missing; give default=username:NAME',
      'a port must be an integer from 1 to 65535',
      'b hostname is a template, "{{ ip }}", which Ansible fills in only when it connects; write the value as ansible_host',
      'b username is encrypted by ansible-vault, as ansible_user; write it as it is',
      'b port must be an integer from 1 to 65535',
      'c port must be a text or a number, as ansible_port',
      'c username must be a text or a number, as ansible_user',
      'c hostname must hold only letters, digits, "-", "_" and dots',
      'e labels.env is made by "env" and "connbook_label_env"; rename one of these variables',
    ])
    const { faults } = read('ansible', text)
    assert.deepEqual([faults[0]?.name, faults[0]?.more], ['a', 1])
  })

  const advice = 'it must be what "ansible-inventory -i FILE --list" prints'
  const documents: Record<string, string> = {
    '': `1 document is not JSON; ${advice}`,
    '[web]\nhost1\n': `1 document is an array; ${advice}`,
    'all:\n  hosts:\n': `1 document is not JSON; ${advice}`,
    '[web:children]\n': `1 document is an array; ${advice}`,
    '5': `1 document is not JSON; ${advice}`,
    '{}': ' document has no host',
    '{"_meta":{"hostvars":{\n "a": {"x": tru}}}}': '2 document is not valid JSON at column 13',
    '{"_meta":{"hostvars":{\n\n"a\u0001": 1}}}': '3 document has a control character in a text at column 3',
    '{"a":{"hosts":["\\x"]}}': '1 document has a "\\" in a text that JSON does not know at column 19',
    '{"a":{"hosts":["x"]}} x': '1 document has something behind its end at column 23',
    '{"a":{"hosts":["x",]}}': '1 document is not valid JSON at column 20',
    '{"a":{"hosts":["x"}': '1 document is not valid JSON at column 19',
    '{"a":["x"]}': `1 document has "a", which must be an object; ${advice}`,
    '{"a":{"hosts":{"x":{}}}}': `1 document has "hosts", which must be an array of names; ${advice}`,
    '{"a":{"hosts":[["x"]]}}': `1 document has "hosts", which must be an array of names; ${advice}`,
    '{"a":{"children":[1]}}': `1 document has "children", which must be an array of names; ${advice}`,
    '{"_meta":{"hostvars":[]}}': `1 document has "hostvars", which must be an object; ${advice}`,
    '{"_meta":{"hostvars":{"h":1}}}': `1 document has "h", which must be an object; ${advice}`,
    '{"a":{"vars":{"x":1}}}':
      '1 document has variables of the group "a"; print it without --export, so that each host has them',
    '{"a":{"children":["a"],"hosts":["h"]}}': ' document has a group that holds itself: "a"',
    '{"a":{"children":["b"],"hosts":["h"]},"b":{"children":["c"]},"c":{"children":["a","d"]}}':
      ' document has a group that holds itself: "a", by way of "c", "b"',
  }
  for (const [text, fault] of Object.entries(documents)) {
    it(`is refused as ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf(text), [fault]))
  }
})

describe('a hostile inventory', () => {
  it('may be nested a thousand deep, and no deeper', () => {
    const nested = (depth: number) =>
      `{"_meta":{"hostvars":{"a":{"ansible_user":"u","x":${'['.repeat(depth)}${']'.repeat(depth)}}}}}`
    assert.equal(draftsOf('ansible', nested(996), 65_536).length, 1)
    assert.match(faultsOf(nested(997))[0] ?? '', /^1 document is nested deeper than 1000 at column/)
    assert.match(faultsOf('['.repeat(1_000_000))[0] ?? '', /is an array/)
    assert.match(faultsOf(`{"a":${'{"a":'.repeat(1_000_000)}`)[0] ?? '', /is nested deeper than 1000/)
  })

  it('may have texts and names of 16 MiB', () => {
    const long = 'x'.repeat(16 * 1024 * 1024)
    const text = `{"_meta":{"hostvars":{"a":{"ansible_user":"u","${long}":"${long}"}}}}`
    const { drafts, warnings } = read('ansible', text, 65_536, 100, undefined, asLabels)
    assert.deepEqual([drafts.length, JSON.stringify(warnings).length < 1_000], [1, true])
    const { faults } = read('ansible', `{"_meta":{"hostvars":{"${long}":{"ansible_user":"u"}}}}`, 65_536)
    assert.match(faults[0]?.detail ?? '', /^has a name of more than 16384 characters$/)
  })

  it('may have a group in more groups than a label can name', () => {
    const chain = Array.from({ length: 2_000 }, (_, i) => [`g${i}`, { children: [`g${i + 1}`] }])
    const groups = { ...Object.fromEntries(chain), g2000: { hosts: ['h'] } }
    assert.deepEqual(faultsOf(inventory({ h: user }, groups)), [
      'h labels.group must not be longer than 255 characters',
    ])
  })

  it('is read until what is kept of it takes the memory that it may have', () => {
    const hosts = Array.from({ length: 20_000 }, (_, i) => `h${i}`)
    const reader = new ImportReader('ansible', 100, { memoryMax: 1024 * 1024 })
    const bytes = Buffer.from(JSON.stringify({ a: { hosts } }))
    for (let at = 0; at < bytes.length; at += 4096) reader.read(bytes.subarray(at, at + 4096))
    const { drafts, faults } = reader.end()
    assert.equal(drafts.length, 0)
    assert.match(faults[0]?.detail ?? '', /^needs more than 1\.0 MiB of memory/)
  })
})
