import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { concerns } from '../../src/console/address.ts'

const record = {
  id: 1,
  name: 'Web1',
  hostname: 'h.example.net',
  port: 22,
  username: 'ops',
  labels: { env: 'a=b', empty: '' },
}
const change = { kind: 'added', configuration: record } as const

describe('whether a change concerns a list', () => {
  const kept: [q: string, filters: [string, string][]][] = [
    ['', []],
    ['web', []],
    ['EXAMPLE', []],
    ['OPS', [['prefix', 'We']]],
    [
      '',
      [
        ['name', 'Web1'],
        ['port', '22'],
        ['hostname', 'h.example.net'],
        ['username', 'ops'],
      ],
    ],
    ['', [['label', 'env']]],
    [
      '',
      [
        ['label', 'env=a=b'],
        ['label', 'empty='],
      ],
    ],
  ]
  for (const [q, filters] of kept)
    it(`yes: ${q} ${filters.join(' ')}`, () => assert.equal(concerns({ q, filters }, change), true))

  const left: [q: string, filters: [string, string][]][] = [
    ['web2', []],
    ['22', []],
    ['', [['prefix', 'we']]],
    ['', [['name', 'web1']]],
    ['', [['port', '022']]],
    ['web', [['username', 'root']]],
    ['', [['label', 'env=a']]],
    ['', [['label', 'toString']]],
    ['', [['label', 'env=']]],
  ]
  for (const [q, filters] of left)
    it(`no: ${q} ${filters.join(' ')}`, () => assert.equal(concerns({ q, filters }, change), false))

  it('looks at the record before and after', () => {
    const modified = {
      kind: 'modified',
      configuration: { ...record, name: 'other' },
      before: record,
    } as const
    assert.equal(concerns({ q: 'web', filters: [] }, modified), true)
    assert.equal(concerns({ q: 'other', filters: [] }, modified), true)
    assert.equal(concerns({ q: 'none', filters: [] }, modified), false)
  })
})
