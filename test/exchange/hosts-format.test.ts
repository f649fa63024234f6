import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { draft } from '../support/store.ts'
import { exported, recordsOf } from './records.ts'

const at = (name: string, hostname = '192.0.2.1') => draft(name, { hostname })

describe('a hosts export', () => {
  it('has the records with an address, of every kind, and is not for the others', async () => {
    const rdp = { ...at('win-1', '[2001:db8::1]'), labels: { kind: 'rdp' } }
    const { text, obstacles, names } = await exported(
      'hosts',
      recordsOf([at('web1.example.net'), draft('a b'), rdp, at('db_main')]),
    )
    assert.equal(text, '192.0.2.1 web1.example.net\n2001:db8::1 win-1\n192.0.2.1 db_main\n')
    assert.deepEqual([obstacles, names], [{}, ['web1.example.net', 'win-1', 'db_main']])
  })

  it('has no name that a resolver would not look up, or that a machine has for itself', async () => {
    const bad = [
      'a b',
      'x localhost',
      'localhost',
      'LocalHost',
      'a.localhost',
      'ip6-allnodes',
      'IP6-x',
      '-a',
      'a-',
      'a..b',
      'a.',
      '.a',
      'bücher',
      '#a',
      'a/b',
      '192.0.2.7',
      '0x1f',
      '0X7F000001',
      '1.0x',
      '1',
      'a\u2028b',
      'a'.repeat(64),
    ]
    const { text, obstacles } = await exported('hosts', recordsOf(bad.map((name) => at(name))))
    assert.equal(text, '')
    assert.deepEqual(Object.keys(obstacles).sort(), [...bad].sort())
  })

  it('has no two names that differ only by case, and no zone', async () => {
    const { text, obstacles } = await exported(
      'hosts',
      recordsOf([at('Web'), at('web'), at('db'), at('fe', 'fe80::1%eth0'), draft('DB')]),
    )
    assert.equal(text, '192.0.2.1 db\n')
    assert.deepEqual(Object.keys(obstacles), ['Web', 'web', 'fe'])
  })
})

describe('a prometheus-sd export', () => {
  it('has no address with a zone, and leaves out no kind', async () => {
    const rdp = { ...at('win'), labels: { kind: 'rdp' } }
    const { names, obstacles } = await exported('prometheus-sd', recordsOf([rdp, at('fe', '[fe80::1%eth0]')]))
    assert.deepEqual([names, Object.keys(obstacles)], [['win'], ['fe']])
  })
})
