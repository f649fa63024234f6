import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runAtOnce } from '../../src/scheduler.ts'
import { SLICE_MS, SLICE_STEPS, Slice, sortInSlices } from '../../src/store/slices.ts'
import { createRandom } from '../support/random.ts'

interface Item {
  readonly key: number
  readonly place: number
}

const byKey = (a: Item, b: Item) => a.key - b.key

describe('a slice', () => {
  /** How many calls of so many milliseconds each there are in each slice. */
  const callsOf = (t: TestContext, slice: Slice, ms: number, slices: number) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    return Array.from({ length: slices }, () => {
      // Others take their time in between.
      now += 100 * SLICE_MS
      for (let calls = 1; ; calls++) {
        if (slice.isOverAfter(1)) return calls
        now += ms
      }
    })
  }

  it('is over after so many steps', (t) => {
    assert.deepEqual(callsOf(t, new Slice(), 0, 2), [SLICE_STEPS, SLICE_STEPS])
    assert.deepEqual(callsOf(t, new Slice(3), 0, 2), [3, 3])
  })

  it('is over when its time is, looked at now and then', (t) => {
    const [first = 0, second = 0] = callsOf(t, new Slice(), SLICE_MS / 40, 2)
    assert.ok(first > 40 && first <= 56, `${first}`)
    assert.equal(second, first)
    const [slow = 0] = callsOf(t, new Slice(), 10 * SLICE_MS, 1)
    assert.ok(slow <= 16, `${slow}`)
  })
})

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
