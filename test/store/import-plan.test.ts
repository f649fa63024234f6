import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ImportMode } from '../../src/store/authorship.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { changesOf, planImport } from '../../src/store/import-plan.ts'
import { amountOf, heldMemory, recordMemory } from '../../src/store/record-room.ts'
import { draft } from '../support/store.ts'

const stored = ['same', 'other', 'left'].map((name, i) => new Configuration(i + 1, draft(name)))
const [same, other, left] = stored

function plan(drafts: readonly NewConfiguration[], mode: ImportMode, lastId = 7) {
  const find = (name: string) => stored.find((record) => record.name === name)
  return planImport(drafts, mode, { records: stored, find, lastId })
}

describe('the plan of an import', () => {
  const drafts = [draft('new'), draft('other', { port: 2 }), draft('same'), draft('also new')]

  it('adds new records in the order of the file, with ids above the highest ever given', () => {
    assert.deepEqual(plan(drafts, 'merge').added, [
      new Configuration(8, draft('new')),
      new Configuration(9, draft('also new')),
    ])
  })

  it('modifies records that differ, keeps their ids, and counts the unchanged ones', () => {
    const { modified, unchanged } = plan(drafts, 'merge')
    assert.deepEqual(modified, [{ before: other, after: new Configuration(2, draft('other', { port: 2 })) }])
    assert.equal(unchanged, 1)
  })

  it('must not make records that need more memory at once than there is', () => {
    const one = heldMemory(amountOf(new Configuration(8, draft('new'))))
    const within = (memoryMax: number) =>
      planImport([draft('new'), draft('old')], 'merge', {
        records: [],
        find: () => undefined,
        lastId: 7,
        memoryMax,
      })
    assert.equal(within(2 * one).added.length, 2)
    assert.throws(() => within(2 * one - 1), { code: 'memory_full', message: /several imports/ })
  })

  it('counts what it changes, however little that frees, and not what stays', () => {
    const find = (name: string) => stored.find((record) => record.name === name)
    const within = (port: number) =>
      planImport([draft('same', { port })], 'merge', { records: stored, find, lastId: 7, memoryMax: 1 })
    assert.equal(within(same?.port ?? 0).unchanged, 1)
    assert.throws(() => within(2), { code: 'memory_full' })
  })

  it('leaves records that are not in the file when it merges, without reading the stored ones', () => {
    const unread = new Proxy(stored, { get: () => assert.fail('the records are read') })
    assert.deepEqual(
      planImport([draft('same')], 'merge', { records: unread, find: () => same, lastId: 3 }).removed,
      [],
    )
  })

  it('removes records that are not in the file when it replaces', () => {
    assert.deepEqual(plan(drafts, 'replace').removed, [left])
    const growth = -stored.reduce((sum, record) => sum + recordMemory(amountOf(record)), 0)
    assert.deepEqual(plan([], 'replace'), { added: [], modified: [], removed: stored, unchanged: 0, growth })
  })
})

describe('the changes of an import', () => {
  it('are removals, then modifications, then additions, each complete', () => {
    const drafts = [draft('new'), draft('other', { port: 2 }), draft('same')]
    assert.deepEqual(
      [...changesOf(plan(drafts, 'replace'))],
      [
        { remove: 'left' },
        { modify: new Configuration(2, draft('other', { port: 2 })), name: 'other' },
        { add: new Configuration(8, draft('new')) },
      ],
    )
  })

  it('are empty when nothing differs', () => {
    assert.deepEqual([...changesOf(plan(stored, 'replace'))], [])
  })
})
