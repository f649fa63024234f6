import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryFullError } from '../../src/errors.ts'
import { RECORDS_MEMORY_LEAST_BYTES } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import {
  amountOf,
  heldMemory,
  IMPORT_ROWS_MEMORY_SHARE,
  importMemoryMax,
  LABEL_MEMORY_BYTES,
  RECORD_JSON_COPIES,
  recordMemory,
} from '../../src/store/record-room.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const full = { name: 'MemoryFullError', code: 'memory_full' }
const labels = { note: 'a'.repeat(100) }

describe('the memory of a record that is held as it is', () => {
  it('depends on its text and its labels, and is less than what a stored record may take', () => {
    const [plain, longer, labelled] = [
      { count: 1, jsonBytes: 100, labels: 0 },
      { count: 1, jsonBytes: 200, labels: 0 },
      { count: 1, jsonBytes: 200, labels: 32 },
    ] as const
    assert.ok(heldMemory(plain) < heldMemory(longer) && heldMemory(longer) < heldMemory(labelled))
    for (const one of [plain, longer, labelled]) assert.ok(heldMemory(one) < recordMemory(one))
  })
})

describe('the memory for an import', () => {
  it('is a part of what the records leave, and never nothing', () => {
    assert.equal(importMemoryMax(0, 2 ** 30), 2 ** 30 * IMPORT_ROWS_MEMORY_SHARE)
    assert.equal(importMemoryMax(2 ** 29, 2 ** 30), 2 ** 29 * IMPORT_ROWS_MEMORY_SHARE)
    assert.equal(importMemoryMax(2 ** 30, 2 ** 30), RECORDS_MEMORY_LEAST_BYTES * IMPORT_ROWS_MEMORY_SHARE)
  })
})

describe('a store whose records take all the memory that they may', () => {
  /** Two records, `a` and `b`, fill it. */
  async function fullStore(t: Parameters<typeof temporaryFolder>[0]) {
    const folder = await temporaryFolder(t)
    const first = await openStore(t, folder)
    for (const name of ['a', 'b']) await first.store.add(someone, draft(name))
    const recordBytesMax = recordMemory(first.store)
    await first.close()
    const { store } = await openStore(t, folder, { recordBytesMax })
    return store
  }

  async function refuses(store: ConfigurationStore, change: () => Promise<unknown>) {
    const before = [store.tag, ...names(store)]
    await assert.rejects(change, full)
    assert.deepEqual([store.tag, ...names(store)], before)
  }

  it('refuses what needs more, and takes what does not', async (t) => {
    const store = await fullStore(t)
    await refuses(store, () => store.add(someone, draft('c')))
    await refuses(store, () => store.put(someone, draft('c')))
    await refuses(store, () => store.put(someone, draft('a', { labels })))
    await refuses(store, () => store.modify(someone, 'a', { labels }))
    await refuses(store, () => store.modify(someone, 'a', { name: 'longer' }))
    await store.modify(someone, 'a', { name: 'A' })
    await store.put(someone, draft('A', { username: 'web' }))
    assert.deepEqual(names(store), ['A', 'b'])
  })

  it('says how many records take how much, and what helps', async (t) => {
    const store = await fullStore(t)
    await assert.rejects(
      () => store.add(someone, draft('c')),
      (error) =>
        error instanceof MemoryFullError &&
        /needs 1 MiB of memory, and 2 records take 1 of 1 MiB; remove records/.test(error.message),
    )
  })

  it('takes more again once something is removed', async (t) => {
    const store = await fullStore(t)
    await store.remove(someone, 'b')
    await store.add(someone, draft('c'))
    assert.deepEqual(names(store), ['a', 'c'])
  })

  it('counts what a change needs, not only what is there', async (t) => {
    const folder = await temporaryFolder(t)
    const one = recordMemory(amountOf(new Configuration(1, draft('a'))))
    const { store } = await openStore(t, folder, { recordBytesMax: 2.5 * one })
    for (const name of ['a', 'b']) await store.add(someone, draft(name))
    await refuses(store, () => store.importAll(someone, [draft('c')], 'merge'))
    // Both in place of one of the two: the other and the label need more than there is.
    await refuses(store, () =>
      store.importAll(someone, [draft('a', { labels }), draft('c', { labels })], 'replace'),
    )
    await store.importAll(someone, [draft('a', { labels: { a: '1' } })], 'replace')
    assert.equal(store.labels, 1)
  })

  it('counts each label', () => {
    const [none, some] = [{}, { labels: { a: '', b: '' } }].map((fields) =>
      amountOf(new Configuration(1, draft('a', fields))),
    )
    assert.deepEqual([none?.labels, some?.labels], [0, 2])
    const text = ((some?.jsonBytes ?? 0) - (none?.jsonBytes ?? 0)) * RECORD_JSON_COPIES
    assert.equal(
      recordMemory(some ?? assert.fail()) - recordMemory(none ?? assert.fail()) - text,
      2 * LABEL_MEMORY_BYTES,
    )
  })

  it('judges an import as a whole, tried and done', async (t) => {
    const store = await fullStore(t)
    const grown = [draft('a'), draft('c')]
    await refuses(store, () => store.importAll(someone, grown, 'merge'))
    await refuses(store, () => store.planImport(grown, 'merge'))
    await refuses(store, () => store.importAll(someone, [draft('a', { labels })], 'merge'))
    await store.importAll(someone, [draft('a', { username: 'web' })], 'merge')
    // One goes for the one that comes.
    await store.planImport(grown, 'replace')
    await store.importAll(someone, grown, 'replace')
    assert.deepEqual(names(store), ['a', 'c'])
  })
})
