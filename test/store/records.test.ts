import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import {
  ConfigurationIndex,
  SORTED_AT_ONCE_RECORDS_MAX,
  UPDATES_AT_ONCE_MAX,
} from '../../src/store/configuration-index.ts'
import { Records } from '../../src/store/records.ts'
import { draft } from '../support/store.ts'

const record = (id: number, name: string) => new Configuration(id, draft(name))
const added = (...names: string[]): Change[] => names.map((name, i) => ({ add: record(i + 1, name) }))

function indexOf(count: number): ConfigurationIndex {
  const loaded = Array.from({ length: count }, (_, i) => record(i + 1, `n${i}`))
  const index = new ConfigurationIndex()
  index.load(loaded, 0, count, count)
  return index
}

/** Records without any, and what a listener to durable changes sees: the revision, how many there are, and whose name it was. */
function heardRecords() {
  const records = new Records(new ConfigurationIndex(), new Scheduler())
  const heard: (readonly [number, number, string | undefined])[] = []
  records.onDurable((_, revision, before) => {
    assert.equal(records.recent.revision, revision)
    heard.push([revision, records.index.count, before?.name])
  })
  return { records, heard }
}

describe('the records', () => {
  it('have a change, and keep it as recent, when their listeners hear of it', async () => {
    const { records, heard } = heardRecords()
    await records.apply(added('a', 'b'), 1)
    await records.apply([{ remove: 'a' }], 3)
    assert.deepEqual(heard, [
      [1, 1, undefined],
      [2, 2, undefined],
      [3, 1, 'a'],
    ])
    assert.equal(records.recent.count, 3)
  })

  it('have all changes of a large import before a listener hears of the first', async () => {
    const { records, heard } = heardRecords()
    const names = Array.from({ length: UPDATES_AT_ONCE_MAX + 1 }, (_, i) => `n${i}`)
    await records.applyTogether(added(...names), 1)
    assert.deepEqual(
      heard,
      names.map((_, i) => [i + 1, names.length, undefined]),
    )
  })

  it('have all changes of one revision before a listener hears of the first, and may reach one without a change', () => {
    const { records, heard } = heardRecords()
    records.applyAt(7, added('a', 'b'))
    records.applyAt(9, [])
    assert.deepEqual(heard, [
      [7, 2, undefined],
      [7, 2, undefined],
    ])
    assert.deepEqual([records.index.revision, records.recent.revision], [9, 9])
  })

  it('forget the recent changes when others are in their place', async () => {
    const { records, heard } = heardRecords()
    await records.apply([{ add: record(1, 'a') }], 1)
    const next = indexOf(5)
    let shown: ConfigurationIndex | undefined
    records.onReplaced(() => {
      shown = records.index
    })
    records.replace(next)
    assert.deepEqual([shown === next, records.recent.count, heard.length], [true, 0, 1])
  })

  it('are ordered once for all who ask, and again if others are in their place meanwhile', async () => {
    const count = SORTED_AT_ONCE_RECORDS_MAX + 1
    const records = new Records(indexOf(count), new Scheduler())
    const ordering = records.order('port')
    assert.equal(records.order('port'), ordering)
    records.replace(indexOf(count))
    await ordering
    assert.equal(records.index.isOrdered('port'), true)
    assert.notEqual(records.order('port'), ordering)
  })
})
