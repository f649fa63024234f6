import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changeLine, changesBetween } from '../../src/audit/audit-line.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft, someone } from '../support/store.ts'

const record = (id: number, fields = {}) => new Configuration(id, draft(`record-${id}`, fields))
const by = { actor: someone, time: '2026-01-02T03:04:05.678Z' }
const start = (event: string) =>
  `{"time":"2026-01-02T03:04:05.678Z","event":"${event}","address":"127.0.0.1","kind":"user","by":"someone","request_id":"a-request","tag":"s-1"`

describe('the line of a change', () => {
  it('has the record that was added, or as it was when it was deleted', () => {
    const { json } = record(7)
    assert.equal(
      changeLine({ add: record(7) }, by, { tag: 's-1' }, undefined),
      `${start('configuration_added')},"record":${json}}\n`,
    )
    assert.equal(
      changeLine({ remove: 'record-7' }, by, { tag: 's-1' }, record(7)),
      `${start('configuration_deleted')},"record":${json}}\n`,
    )
  })

  it('has the id, the old name and the changed fields of a modification', () => {
    const change = { modify: record(7, { port: 23 }), name: 'record-7' }
    assert.equal(
      changeLine(change, by, { tag: 's-1' }, record(7)),
      `${start('configuration_modified')},"id":7,"name":"record-7","changed":{"port":{"before":22,"after":23}}}\n`,
    )
  })
})

describe('changesBetween', () => {
  it('returns the fields that differ, with both values, under the old name', () => {
    const after = new Configuration(7, draft('new', { port: 23 }))
    assert.deepEqual(changesBetween(record(7), after), {
      id: 7,
      name: 'record-7',
      changed: { name: { before: 'record-7', after: 'new' }, port: { before: 22, after: 23 } },
    })
  })

  it('returns each label that differs by its key, with null for none', () => {
    const before = record(7, { labels: { env: 'prod', group: 'web', same: 'x' } })
    const after = record(7, { labels: { constructor: '', group: 'db', same: 'x' } })
    assert.deepEqual(changesBetween(before, after).changed, {
      'labels.constructor': { before: null, after: '' },
      'labels.env': { before: 'prod', after: null },
      'labels.group': { before: 'web', after: 'db' },
    })
  })
})
