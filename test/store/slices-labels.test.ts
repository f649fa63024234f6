import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LongWork, runAtOnce, Scheduler } from '../../src/scheduler.ts'
import { encodeChangesInSlices } from '../../src/store/change.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { planImportInSlices } from '../../src/store/import-plan.ts'
import { loadStore } from '../support/loaded-store.ts'
import { draft, someone } from '../support/store.ts'

describe('slices of long work', () => {
  const labels = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'x'.repeat(240)]))
  const drafts = Array.from({ length: 500 }, (_, i) => draft(`a${i}`, { labels }))
  const records = drafts.map((each, i) => new Configuration(i + 1, each))
  const changes = records.map((add) => ({ add }))
  /** The first slice is that before the first yield. */
  const slicesOf = (work: LongWork<unknown>) => {
    let slices = 1
    while (!work.next().done) slices += 1
    return slices
  }
  const stored = { records, find: (name: string) => records[Number(name.slice(1))], lastId: 500 }
  const index = () => {
    const filled = new ConfigurationIndex()
    runAtOnce(filled.applyTogether(changes, 1))
    return filled
  }

  it('are shorter in records the longer their labels are', () => {
    const removals = records.map(({ name }) => ({ remove: name }))
    const patches = records.map(({ labels: _, ...rest }) => ({ ...rest, labelsPatch: { more: 'x' } }))
    const works: Record<string, LongWork<unknown>> = {
      encode: encodeChangesInSlices(changes),
      plan: planImportInSlices(drafts, 'merge', { ...stored, find: () => undefined }),
      planOnLabels: planImportInSlices(patches, 'merge', stored),
      apply: new ConfigurationIndex().applyTogether(changes, 1),
      remove: index().applyTogether(removals, 501),
    }
    for (const [what, work] of Object.entries(works)) {
      const slices = slicesOf(work)
      assert.ok(slices >= 25 && slices < 200, `${slices} slices to ${what}`)
    }
  })

  it('make a short import of long labels a large one', async () => {
    const few = drafts.slice(0, 100)
    const plain = few.map(({ labels: _, ...each }) => each)
    const large = /takes no large import/
    await assert.rejects(loadStore([], new Scheduler()).importAll(someone, few, 'merge'), large)
    // The labels that stay are written, too.
    await assert.rejects(loadStore(few, new Scheduler()).importAll(someone, moved(plain), 'merge'), large)
    await assert.rejects(loadStore(few, new Scheduler()).importAll(someone, moved(plain), 'replace'), large)
    assert.equal(
      (await loadStore(plain, new Scheduler()).importAll(someone, moved(plain), 'merge')).modified.length,
      100,
    )
  })

  const moved = (some: readonly NewConfiguration[]) => some.map((each) => ({ ...each, port: 23 }))
})
