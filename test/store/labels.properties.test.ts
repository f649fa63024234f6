import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Configuration } from '../../src/store/configuration.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyLabels } from '../support/properties/labels.ts'
import { draft } from '../support/store.ts'

describe('any labels of a record', () => {
  it('stand last, sorted by UTF-16 code unit, in JSON of the right length', (t) => {
    holdFor(t, anyLabels, (labels) => {
      const record = new Configuration(7, draft('a', { labels }))
      const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
      assert.equal(record.json, JSON.stringify({ id: 7, ...draft('a'), labels: sorted }))
      assert.equal(record.jsonBytes, Buffer.byteLength(record.json))
      assert.equal(JSON.stringify(record), record.json)
      const other = new Configuration(
        7,
        draft('a', { labels: Object.fromEntries(Object.entries(labels).reverse()) }),
      )
      assert.equal(other.etag, record.etag)
    })
  })

  it('are merged by key, and the record stays the same object when nothing changes', (t) => {
    const value = fc.option(fc.constantFrom('', 'x', 'y'), { nil: null })
    const patches = fc.dictionary(fc.constantFrom('a', 'b', 'constructor', 'z'), value, {
      noNullPrototype: true,
    })
    holdFor(t, fc.tuple(anyLabels, patches), ([labels, labelsPatch]) => {
      const record = new Configuration(7, draft('a', { labels }))
      const model = new Map(Object.entries(labels))
      for (const [key, value] of Object.entries(labelsPatch)) {
        if (value === null) model.delete(key)
        else model.set(key, value)
      }
      const after = record.with({ labelsPatch })
      assert.deepEqual(new Map(Object.entries(after.labels ?? {})), model)
      assert.equal('labels' in after, model.size > 0)
      assert.equal(after === record, after.json === record.json)
      assert.equal(record.with({ labels: Object.fromEntries(model) }).json, after.json)
      assert.equal(record.with({ port: 22 }), record)
      assert.deepEqual(record.with({ port: 23 }).labels, record.labels)
      assert.equal(record.with({ labels: {} }).labels, undefined)
    })
  })
})
