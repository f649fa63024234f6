import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordMemoryMax } from '../../src/budget.ts'
import { recordMemory } from '../../src/store/record-room.ts'
import { storeMetrics } from '../../src/store/store-metrics.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the figures of a store', () => {
  it('have their values at the scrape, and come before those of the storage', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    let isWritable = true
    const [records, taken, most, writable, ...others] = storeMetrics(store, () => isWritable)
    assert.deepEqual(
      [records?.name, taken?.name, most?.name, writable?.name],
      [
        'connbook_records',
        'connbook_records_memory_bytes',
        'connbook_records_memory_max_bytes',
        'connbook_writable',
      ],
    )
    assert.deepEqual([taken?.samples(), most?.samples()], [[{ value: 0 }], [{ value: recordMemoryMax() }]])
    assert.deepEqual([records?.samples(), writable?.samples()], [[{ value: 0 }], [{ value: 1 }]])
    await store.add(someone, draft('a'))
    isWritable = false
    assert.deepEqual([records?.samples(), writable?.samples()], [[{ value: 1 }], [{ value: 0 }]])
    assert.deepEqual(taken?.samples(), [{ value: recordMemory(store) }])
    assert.ok(others.length > 0)
    assert.deepEqual(others, store.storageMetrics)
  })
})
