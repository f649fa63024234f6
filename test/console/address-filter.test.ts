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
  labels: { env: 'a=b', empty: '', group: 'web, db,,' },
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
    [
      '',
      [
        ['label', 'env=other'],
        ['label', 'group=x'],
        ['label', 'env=a=b'],
        ['label', 'group=db'],
      ],
    ],
    [
      '',
      [
        ['label', '!absent'],
        ['label', 'env!=a'],
        ['label', 'absent!='],
        ['label', 'group!=x'],
      ],
    ],
    ['', [['label', 'group=web, db,,']]],
    ['', [['id', '3,1']]],
    ['A=B  we\tops', []],
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
    ['', [['label', '!env']]],
    ['', [['label', 'env!=a=b']]],
    ['', [['label', 'empty!=']]],
    ['', [['label', 'group!=db']]],
    ['', [['label', 'group=']]],
    ['', [['label', 'group=d']]],
    ['', [['id', '11,2']]],
    ['web root', []],
    ['empty', []],
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
