import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runAtOnce } from '../../src/scheduler.ts'
import { sortInSlices } from '../../src/store/slices.ts'
import { createRandom } from '../support/random.ts'

interface Item {
  readonly key: number
  readonly place: number
}

const byKey = (a: Item, b: Item) => a.key - b.key

describe('sorting in steps', () => {
  /** Sorted at once, before they are merged. */
  const RUN = 500

  it('gives the order of a stable sort', (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    for (const size of [0, 1, RUN, RUN + 1, 5 * RUN + 7]) {
      for (const keys of [3, size, 1_000_000]) {
        const items = Array.from({ length: size }, (_, place) => ({ key: random.integer(0, keys), place }))
        assert.deepEqual(runAtOnce(sortInSlices(items, byKey)), items.toSorted(byKey), `${size} items`)
      }
    }
  })

  it('leaves sorted items in their order', () => {
    const items = Array.from({ length: 3 * RUN }, (_, place) => ({ key: place, place }))
    assert.deepEqual(runAtOnce(sortInSlices(items, byKey)), items)
  })

  it('compares few items between two yields', () => {
    const random = createRandom()
    let comparisons = 0
    const work = sortInSlices(
      Array.from({ length: 20 * RUN }, (_, place) => ({ key: random.integer(0, 1_000_000), place })),
      (a, b) => {
        comparisons += 1
        return byKey(a, b)
      },
    )
    do {
      assert.ok(comparisons <= 12 * RUN, `${comparisons} comparisons`)
      comparisons = 0
    } while (!work.next().done)
  })
})
