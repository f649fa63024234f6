import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  SNAPSHOT_SLICE_CHARACTERS,
  SNAPSHOT_SLICE_RECORDS,
  writeRecordDocument,
} from '../../src/storage/record-document.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

describe('a document that is written', () => {
  const kind = { format: 'connbook snapshot', version: 1, members: [], advice: 'no advice' }
  const long = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'x'.repeat(240)]))

  for (const [what, labels] of [
    ['without labels', {}],
    ['with long labels', long],
  ] as const) {
    it(`comes in slices that are short in records and in characters, ${what}`, async () => {
      const count = 3 * SNAPSHOT_SLICE_RECORDS
      const records = Array.from(
        { length: count },
        (_, i) => new Configuration(i + 1, draft(`a${i}`, { labels })),
      )
      const hasLabels = Object.keys(labels).length > 0
      const header = { store: 's', revision: 1, lastId: count, count, hasLabels }
      const texts: string[] = []
      await writeRecordDocument(kind, header, {}, records, async (text) => {
        texts.push(text)
      })
      for (const text of texts) {
        assert.ok(text.length < SNAPSHOT_SLICE_CHARACTERS + 5_000, `${text.length} characters`)
        assert.ok(text.split('\n').length <= SNAPSHOT_SLICE_RECORDS + 1)
      }
      assert.equal(JSON.parse(texts.join('')).records.length, count)
    })
  }
})
