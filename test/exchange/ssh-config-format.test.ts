import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sshConfigFormat } from '../../src/exchange/ssh-config-format.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'
import { exported, recordsOf } from './records.ts'

const record = (name: string, fields = {}) => new Configuration(1, draft(name, fields))
const reasonOf = (name: string, username = 'ops') => sshConfigFormat.obstacle?.(record(name, { username }))

describe('a record in an ssh-config', () => {
  it('is a section, with the address without brackets and % escaped', () => {
    assert.equal(
      sshConfigFormat.encode(record('db/main', { hostname: '[fe80::1%eth0]', port: 2222 })),
      'Host db/main\n  HostName fe80::1%%eth0\n  Port 2222\n  User ops\n',
    )
  })

  it('quotes text that ssh would split', () => {
    const lines: Record<string, string> = {
      'a b': '"a b"',
      'a#b': '"a#b"',
      'a\\b c': '"a\\\\b c"',
      é: '"é"',
    }
    for (const [username, word] of Object.entries(lines))
      assert.match(
        sshConfigFormat.encode(record('a', { username })),
        new RegExp(`User ${RegExp.escape(word)}\\n$`),
      )
  })

  it('is left out when ssh would not find its name', () => {
    for (const name of [
      '-x',
      'a*',
      'a?',
      '!a',
      'a@b',
      'ssh://a',
      'SSH://a',
      'a b',
      'a,b',
      "a'b",
      'a$b',
      'a\\b',
      'a{b',
    ])
      assert.match(reasonOf(name) ?? '', /^has a name /, name)
    for (const name of ['a-x', 'a!b', 'xssh://a', 'a:b', 'a%b', '日本', '#a'])
      assert.equal(reasonOf(name), undefined, name)
  })

  it('is left out when ssh refuses its username on the command line, where it is a word of a shell', () => {
    for (const username of [
      ...[
        '$(touch x)',
        '`touch x`',
        'a;b',
        'a|b',
        'a&b',
        'a>b',
        'a<b',
        "a'b",
        'a"b',
        'a(b',
        'a)b',
        'a{b',
        'a}b',
      ],
      ...['-oProxyCommand=x', 'a -b', 'a\u2003-b', 'a\\'],
    ])
      assert.match(reasonOf('a', username) ?? '', /^has a username that ssh refuses/, username)
    for (const username of ['a b', 'DOMAIN\\user', 'first.last', 'a@b', 'a-b', '$USER', '*', 'ü', 'a\u2028b'])
      assert.equal(reasonOf('a', username), undefined, username)
  })

  it('goes through no hop whose user a shell would run', async () => {
    const records = recordsOf([
      draft('gate', { username: '$(touch x)' }),
      draft('behind', { labels: { 'ssh.proxyjump': 'gate' } }),
      draft('typed', { labels: { 'ssh.proxyjump': '$(touch x)@gate' } }),
      draft('other', { port: 443, labels: { 'ssh.proxyjump': 'ops@gate' } }),
    ])
    const { text, obstacles } = await exported('ssh-config', records)
    assert.deepEqual(Object.keys(obstacles), ['gate', 'behind', 'typed'])
    assert.doesNotMatch(text, /touch/)
  })

  it('is left out when ssh may expand its username', () => {
    for (const username of ['50%', '$' + '{USER}'])
      assert.match(reasonOf('a', username) ?? '', /^has a username /)
    assert.equal(reasonOf('a', '$USER'), undefined)
  })
})
