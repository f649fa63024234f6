import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ansibleFormat } from '../../src/exchange/ansible-format.ts'
import { noBook } from '../../src/exchange/ansible-inventory.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const record = (name: string, fields = {}) => new Configuration(1, draft(name, fields))

describe('a record in an inventory', () => {
  it('is a key with its variables, with text quoted and the address without brackets', () => {
    assert.equal(
      ansibleFormat.encode(record('a "b"', { hostname: '[::1]', username: 'no' })),
      '    "a \\"b\\"":\n      ansible_host: "::1"\n      ansible_port: 22\n      ansible_user: "no"\n',
    )
  })

  it('escapes characters that YAML folds or does not allow', () => {
    const text = ansibleFormat.encode(record('a\u2028b\u2029c\ufeffd\uffffe'))
    assert.match(text, /^ {4}"a\\u2028b\\u2029c\\ufeffd\\uffffe":\n/)
  })

  it('has a text that looks like a template as it is', () => {
    const { labelled } = ansibleFormat
    assert.ok(typeof labelled === 'function')
    const text = labelled({ ...noBook, keeps: () => true }).encode(
      record('a', { username: 'a{%b', labels: { env: '{{ x }}' } }),
    )
    assert.match(
      text,
      /\n {6}ansible_user: !unsafe "a\{%b"\n {6}connbook_label_env: !unsafe "\{\{ x \}\}"\n$/,
    )
  })

  it('has a kind that is a connection of Ansible, as Ansible calls it; other kinds are not meant', () => {
    const { labelled } = ansibleFormat
    assert.ok(typeof labelled === 'function')
    const form = labelled({ store: '', isShared: () => false, find: () => undefined, keeps: () => true })
    const meant = ['winrm', 'network_cli', 'ansible.netcommon.httpapi', 'paramiko_ssh']
    // With these, tasks would run on the machine of the reader.
    const near = ['local', 'ansible.builtin.local', 'chroot', 'nsenter', 'community.docker.docker', 'a.b.c']
    const kinds = [...meant, 'ssh', ...near, 'postgres']
    const lines = kinds.map((kind) => {
      const one = record('a', { labels: { kind } })
      return form.isMeant?.(one) ? (/ansible_connection: .*/.exec(form.encode(one))?.[0] ?? '') : undefined
    })
    const connections = meant.map((kind) => `ansible_connection: "${kind}"`)
    assert.deepEqual(lines, [...connections, '', ...near.map(() => undefined), undefined])
  })

  it('marks a long key as a key', () => {
    assert.match(ansibleFormat.encode(record('"'.repeat(499))), /^ {4}"[^\n]+":\n {6}ansible_host/)
    assert.match(ansibleFormat.encode(record('"'.repeat(500))), /^ {4}\? "[^\n]+"\n {4}:\n {6}ansible_host/)
  })

  it('is left out when Ansible would misread its name', () => {
    const reasonOf = (name: string) => ansibleFormat.obstacle?.(record(name))
    for (const name of [
      'a[1:3]',
      'a:22',
      '192.0.2.1:22',
      'é_1.b-c:22',
      'all',
      'ungrouped',
      '{{ x }}',
      '{% x %}',
      '{# x #}',
      'localhost',
      'LocalHost',
      '127.0.0.1',
      '::1',
    ])
      assert.match(reasonOf(name) ?? '', /^has a name /, name)
    const names = [
      'a:b',
      ':22a',
      'All',
      '{ {',
      'a]',
      '2001:db8::10',
      'fe80::1:22',
      '12:30:45',
      ':22',
      'a b:22',
      '-a:22',
      'localhost.example',
      '127.0.0.2',
    ]
    for (const name of names) assert.equal(reasonOf(name), undefined, name)
  })
})
