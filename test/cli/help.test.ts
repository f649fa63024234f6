import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { help } from '../../src/cli/help.ts'

const lines = help().split('\n')

describe('help', () => {
  const flags: Record<string, string> = {
    '--port PORT': '(default: 8080)',
    '--host ADDRESS': '(default: every address',
    '--data FOLDER': '(default: ./data)',
    '--base-path PATH': '(default: /)',
    '--tls-cert FILE': 'PEM',
    '--tls-key FILE': 'PEM',
    '--trust-proxy ADDRESS/BITS': 'may be repeated',
    '--session-ttl TIME': '(default: 12h)',
    '--token-ttl TIME': '(default: 3600s)',
    '--log-format text|json': '(default: text on a terminal',
    '--access-log': 'log every request',
    '--shutdown-timeout TIME': '(default: 10s)',
  }
  for (const [flag, note] of Object.entries(flags)) {
    it(`has one line for ${flag}, with its variable and its default`, () => {
      const found = lines.filter((line) => line.startsWith(`  ${flag} `))
      assert.equal(found.length, 1)
      const [name = ''] = flag.slice(2).split(' ')
      assert.ok(found[0]?.includes(` CONNBOOK_${name.toUpperCase().replaceAll('-', '_')} `))
      assert.ok(found[0]?.includes(note))
    })
  }

  it('has one line for --read-only, which has no variable', () => {
    const found = lines.filter((line) => line.includes('--read-only'))
    assert.equal(found.length, 1)
    assert.match(found[0] ?? '', /^ {2}--read-only +the account can read/)
  })

  it('lists no other flag', () => {
    assert.equal(lines.filter((line) => line.startsWith('  --')).length, Object.keys(flags).length + 5)
  })

  it('names every command and every exit code', () => {
    const commands = [
      'user add',
      'user passwd',
      'user remove',
      'user list',
      'client add',
      'client rotate',
      'client remove',
    ]
    const others = [
      'client list',
      'keys rotate',
      'keys revoke-all',
      'keys list',
      'backup FILE',
      'restore FILE',
      'check [FILE]',
      'help',
      '--version',
      '[serve]',
    ]
    for (const command of [...commands, ...others]) {
      assert.ok(help().includes(`connbook ${command}`), command)
    }
    for (const code of [0, 1, 2, 65, 75]) assert.match(help(), new RegExp(`\\b${code} `))
  })

  it('fits a terminal and ends with a newline', () => {
    for (const line of lines) assert.ok(line.length <= 120, line)
    assert.ok(help().endsWith('\n'))
  })
})
