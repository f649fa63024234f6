import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changesBetween, fateOf, verbOf } from '../../src/console/history-entry.ts'

const record = { id: 1, name: 'a', hostname: 'h', port: 22, username: 'u', labels: { env: '' } }
const fields = [
  ['name', 'a'],
  ['hostname', 'h'],
  ['port', '22'],
  ['username', 'u'],
  ['labels.env', ''],
]

describe('an entry of the history', () => {
  it('shows the fields of a record that was added or deleted', () => {
    const added = { time: '', event: 'configuration_added', record }
    assert.deepEqual(
      changesBetween(added),
      fields.map(([field, after]) => ({ field, before: undefined, after })),
    )
    const deleted = { time: '', event: 'configuration_deleted', record }
    assert.deepEqual(
      changesBetween(deleted),
      fields.map(([field, before]) => ({ field, before, after: undefined })),
    )
  })

  it('shows what was changed, and which label was added or removed', () => {
    const changed = {
      port: { before: 22, after: 23 },
      'labels.a': { before: null, after: '' },
      'labels.b': { before: 'x', after: null },
    }
    assert.deepEqual(changesBetween({ time: '', event: 'configuration_modified', changed }), [
      { field: 'port', before: '22', after: '23' },
      { field: 'labels.a', before: undefined, after: '' },
      { field: 'labels.b', before: 'x', after: undefined },
    ])
  })

  it('says what has become of a record', () => {
    const changed = (field: string, after: string) => ({
      time: '',
      event: 'configuration_modified',
      changed: { [field]: { before: 'x', after } },
    })
    const added = { time: '', event: 'configuration_added', record }
    const deleted = { time: '', event: 'configuration_deleted', record }
    assert.deepEqual(fateOf([deleted, changed('name', 'b'), added]), { deleted })
    const renamed = [changed('port', '1'), changed('name', 'c'), changed('name', 'b'), added]
    assert.deepEqual(fateOf(renamed), { renamed: 'c' })
    for (const history of [[], [added], [changed('port', '1')]]) assert.equal(fateOf(history), undefined)
  })

  it('keeps the name of an event that it does not know', () => {
    assert.equal(verbOf({ time: '', event: 'configuration_moved' }), 'configuration_moved')
    assert.equal(verbOf({ time: '', event: 'configuration_deleted' }), 'deleted it')
    assert.deepEqual(changesBetween({ time: '', event: 'x' }), [])
  })
})
