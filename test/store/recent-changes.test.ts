import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HELD_LABEL_BYTES } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { RECENT_CHANGE_MEMORY_BYTES, RecentChanges } from '../../src/store/recent-changes.ts'
import { amountOf, heldMemory } from '../../src/store/record-room.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const record = (id: number) => new Configuration(id, draft(`r${id}`))

describe('the recent changes', () => {
  it('are found by their place, the oldest dropped first', () => {
    const recent = new RecentChanges(10, 20)
    assert.deepEqual([recent.last, recent.floor, recent.count], [10, 10, 0])
    for (let revision = 11; revision <= 100; revision++) {
      recent.add({ add: record(revision) }, revision, undefined)
      const floor = Math.max(10, revision - 20)
      assert.deepEqual([recent.last, recent.floor], [revision, floor])
      assert.equal(recent.at(floor), undefined)
      assert.equal(recent.at(floor + 1)?.after?.id, floor + 1)
      assert.equal(recent.at(revision)?.place, revision)
      assert.deepEqual([recent.placeAt(revision), recent.placeAt(floor)], [revision, floor])
      assert.equal(recent.placeAt(floor - 1), undefined)
      assert.equal(recent.at(revision + 1), undefined)
      const one = recent.bytesAfter(revision - 1)
      assert.ok(one > 0)
      assert.equal(recent.bytesAfter(revision), 0)
      assert.equal(recent.bytesAfter(0), recent.bytesAfter(floor))
    }
  })

  it('take up so many bytes at most', () => {
    const recent = new RecentChanges(0, 1_000, 10_000)
    for (let revision = 1; revision <= 500; revision++) {
      recent.add({ modify: record(1), name: 'r1' }, revision, record(1))
      assert.ok(recent.memory <= 10_000)
    }
    assert.ok(recent.count > 10 && recent.count < 20, String(recent.count))
    recent.restart(1)
    assert.equal(recent.memory, 0)
  })

  it('take up what they replaced: what they made is stored, or was replaced by a later one', () => {
    const one = record(1)
    const taken = (change: Parameters<RecentChanges['add']>[0], before: Configuration | undefined) => {
      const recent = new RecentChanges()
      recent.add(change, 1, before)
      return recent.memory - RECENT_CHANGE_MEMORY_BYTES
    }
    const held = heldMemory(amountOf(one))
    assert.equal(taken({ add: one }, undefined), 0)
    assert.equal(taken({ modify: record(2), name: 'r1' }, one), held)
    assert.equal(taken({ remove: 'r1' }, one), held)
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`key-${i}`, '']))
    const labelled = new Configuration(1, { ...one, labels })
    assert.ok(taken({ remove: 'r1' }, labelled) > held + 32 * HELD_LABEL_BYTES)
  })

  it('count labels, too', () => {
    const bytesOf = (labels: Record<string, string>) => {
      const recent = new RecentChanges()
      recent.add({ add: new Configuration(1, { ...draft('a'), labels }) }, 1, undefined)
      return recent.bytesAfter(0)
    }
    assert.equal(bytesOf({ env: 'x'.repeat(200) }) - bytesOf({}), 203)
  })

  it('of one revision are together, and revisions between them are places, too', () => {
    const recent = new RecentChanges(10)
    const add = (revision: number, ...ids: number[]) =>
      recent.addTogether(
        ids.map((id) => ({ add: record(id) })),
        revision,
        [],
      )
    const changed = () => [recent.changedBefore, recent.changedAt]
    assert.deepEqual(changed(), [undefined, 10])
    add(12, 1)
    assert.deepEqual(changed(), [10, 12])
    add(20, 2, 3, 4)
    assert.deepEqual(changed(), [12, 20])
    add(21, 5)
    add(30)
    assert.deepEqual(changed(), [20, 21])
    assert.deepEqual([recent.floor, recent.last, recent.revision], [10, 15, 30])
    assert.deepEqual(
      [9, 10, 11, 12, 19, 20, 21, 22, 30].map((revision) => recent.placeAt(revision)),
      [undefined, 10, 10, 11, 11, 14, 15, 15, 15],
    )
    assert.deepEqual(
      [12, 13, 14].map((place) => recent.at(place)?.together),
      [12, 13, 14].map(() => ({ revision: 20, first: 12, last: 14 })),
    )
  })

  it('that are dropped leave no place for a revision before them, in the middle of one either', () => {
    const recent = new RecentChanges(0, 2)
    recent.addTogether(
      [1, 2, 3].map((id) => ({ add: record(id) })),
      5,
      [],
    )
    assert.deepEqual([recent.floor, recent.placeAt(4), recent.placeAt(5)], [1, undefined, 3])
    recent.add({ add: record(4) }, 6, undefined)
    assert.deepEqual([recent.floor, recent.placeAt(4), recent.placeAt(5)], [2, undefined, 3])
  })

  it('do not know the places before another state took over', () => {
    const recent = new RecentChanges()
    for (const id of [1, 2]) recent.add({ add: record(id) }, id, undefined)
    recent.restart(1)
    assert.deepEqual([recent.floor, recent.last, recent.count, recent.revision], [3, 3, 0, 1])
    assert.deepEqual(
      [0, 1].map((revision) => recent.placeAt(revision)),
      [undefined, 3],
    )
    recent.add({ add: record(3) }, 2, undefined)
    assert.equal(recent.at(4)?.after?.id, 3)
    assert.equal(recent.placeAt(2), 4)
  })

  it('are those since the snapshot after a start, and know which were made together', async (t) => {
    const path = await temporaryFolder(t)
    const first = await openStore(t, path)
    await first.store.add(someone, draft('a'))
    await first.store.importAll(someone, [draft('b'), draft('c'), draft('a', { port: 1 })], 'merge')
    await first.store.remove(someone, 'b')
    const told = [1, 2, 3, 4, 5].map((revision) => first.store.recent.at(revision))
    assert.deepEqual(
      told.map((change) => change && [change.together.first, change.together.last]),
      [
        [1, 1],
        [2, 4],
        [2, 4],
        [2, 4],
        [5, 5],
      ],
    )
    await first.close()
    const second = await openStore(t, path)
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((revision) => JSON.stringify(second.store.recent.at(revision))),
      told.map((change) => JSON.stringify(change)),
    )
  })
})
