import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Configuration } from '../../src/store/configuration.ts'
import { sharedLabels } from '../../src/store/shared-labels.ts'
import { draft } from '../support/store.ts'

describe('shared labels', () => {
  it('stay right when so many are different that sharing begins anew', () => {
    const first = sharedLabels({ a: 'x' })
    for (let i = 0; i < 5_000; i++) {
      const labels = { a: `${i}`.padEnd(255, 'x') }
      assert.deepEqual(sharedLabels(labels), labels)
    }
    assert.deepEqual(sharedLabels({ a: 'x' }), first)
  })

  it('stay with their record when other fields change, even if they are no longer known', () => {
    const record = new Configuration(1, draft('a', { labels: { b: 'x', a: 'y' } }))
    for (let i = 0; i < 5_000; i++) sharedLabels({ a: `${i}`.padEnd(255, 'x') })
    assert.equal(record.with({ port: 1 }).labels, record.labels)
  })
})
