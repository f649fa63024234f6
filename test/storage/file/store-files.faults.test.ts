import '../../support/node-version.ts'
import { describe, it } from 'node:test'
import { assertNoCompactionIsDamage } from './counting-store.ts'

describe('reading a store beside its server', () => {
  it('never mistakes a compaction for damage, however many of its calls are between beginning and end', (t) =>
    assertNoCompactionIsDamage(t, Number.POSITIVE_INFINITY))
})
