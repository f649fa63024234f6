import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runAtOnce } from '../../src/scheduler.ts'
import { firstFrozen, SortedIndex } from '../../src/store/sorted-index.ts'
import { createRandom, type Random } from '../support/random.ts'

const byNumber = (a: number, b: number) => a - b

function seededRandom(t: TestContext): Random {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  return random
}

function assertSame(index: SortedIndex<number>, model: readonly number[]): void {
  assert.equal(index.size, model.length)
  assert.deepEqual(index.slice(0, model.length + 1), model)
}

/** Adds an item to both, or removes it from both. */
function toggle(index: SortedIndex<number>, model: number[], item: number): void {
  const position = positionOf(model, item)
  if (model[position] === item) {
    index.remove(item)
    model.splice(position, 1)
  } else {
    index.insert(item)
    model.splice(position, 0, item)
  }
}

/** The position of the first item that is not smaller. */
function positionOf(model: readonly number[], item: number): number {
  let [from, to] = [0, model.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((model[middle] ?? item) < item) from = middle + 1
    else to = middle
  }
  return from
}

describe('a sorted index', () => {
  it('returns the same slices as an array', () => {
    for (const size of [0, 1, 96, 97, 128, 129, 300]) {
      const items = Array.from({ length: size }, (_, i) => i)
      const built = new SortedIndex(byNumber, items)
      const inserted = new SortedIndex(byNumber)
      for (const item of items) inserted.insert(item)
      for (let offset = 0; offset <= size + 1; offset++) {
        for (const limit of [0, 1, 2, 95, 96, 97, 128, 129, size, Number.MAX_SAFE_INTEGER]) {
          const expected = items.slice(offset, offset + limit)
          assert.deepEqual(
            built.slice(offset, limit),
            expected,
            `${size} built, from ${offset}, up to ${limit}`,
          )
          assert.deepEqual(
            inserted.slice(offset, limit),
            expected,
            `${size} inserted, from ${offset}, up to ${limit}`,
          )
        }
      }
    }
  })

  it('freezes a part, and finds neighbours, as an array does', (t) => {
    const random = seededRandom(t)
    for (const size of [0, 1, 96, 97, 300, 20_000]) {
      const model = Array.from({ length: size }, (_, i) => i)
      const index = new SortedIndex(byNumber, model)
      const some = () => random.integer(0, size + 2)
      const parts = Array.from({ length: 50 }, () => {
        const [offset, limit] = [some(), some()]
        return { frozen: index.freeze(offset, limit), expected: model.slice(offset, offset + limit) }
      })
      for (let i = 0; i < 50; i++) {
        const [first, end] = [some() - 1, some()]
        const place = (item: number) => (item < first ? -1 : item >= end ? 1 : 0)
        // Nothing is within when the end comes first; then there is no place for it either.
        if (end < first) continue
        const within = model.filter((item) => place(item) === 0)
        const { offset, count } = index.stretch(place)
        assert.deepEqual([offset, count], [model.filter((item) => place(item) < 0).length, within.length])
        assert.deepEqual(index.slice(offset, count), within)
      }
      for (let i = 0; i < 200; i++) toggle(index, model, some())
      for (const { frozen, expected } of parts) {
        assert.deepEqual([...frozen], expected)
        assert.deepEqual(frozen.leaves.flat(), expected)
        assert.ok(frozen.leaves.every((leaf) => leaf.length > 0 && leaf.length <= 128))
      }
    }
  })

  it('finds the first frozen item from which on something holds', () => {
    for (const size of [0, 1, 96, 97, 300]) {
      const items = Array.from({ length: size }, (_, i) => 2 * i)
      const frozen = new SortedIndex(byNumber, items).freeze()
      for (let least = -1; least <= 2 * size; least++) {
        const expected = items.find((item) => item >= least)
        assert.equal(
          firstFrozen(frozen, (item) => item >= least),
          expected,
          `${least} of ${size}`,
        )
      }
    }
  })

  it('returns an empty slice far beyond the end', () => {
    const index = new SortedIndex(byNumber, [1, 2, 3])
    assert.deepEqual(index.slice(Number.MAX_SAFE_INTEGER, 100), [])
  })

  for (const range of [10, 200, 2_000, 40_000]) {
    it(`stays like a sorted array under random changes over ${range} items`, (t) => {
      const random = seededRandom(t)
      const model: number[] = []
      const index = new SortedIndex(byNumber, model)
      for (let step = 0; step < 6_000; step++) {
        toggle(index, model, random.integer(1, range))
        if (step % 500 === 0) assertSame(index, model)
        const offset = random.integer(0, model.length + 1)
        assert.deepEqual(index.slice(offset, 5), model.slice(offset, offset + 5))
      }
      assertSame(index, model)
    })
  }

  it('replaces an item, at the same or another position, without disturbing readers', (t) => {
    const random = seededRandom(t)
    interface Item {
      readonly key: number
      readonly text: string
    }
    let model: Item[] = Array.from({ length: 1_000 }, (_, key) => ({ key: 10 * key, text: 'old' }))
    const index = new SortedIndex<Item>((a, b) => a.key - b.key, model)
    for (let step = 0; step < 3_000; step++) {
      const old = model[random.integer(0, model.length - 1)] ?? assert.fail('there are 1,000')
      // One item in three moves to another position.
      let key = old.key
      if (step % 3 === 0) while (model.some((item) => item.key === key)) key = random.integer(0, 20_000)
      const item = { key, text: `step ${step}` }
      const frozen = step % 100 === 0 ? { before: model, items: index.freeze() } : undefined
      index.replace(old, item)
      model = model.map((each) => (each === old ? item : each)).sort((a, b) => a.key - b.key)
      if (frozen !== undefined) assert.deepEqual([...frozen.items], frozen.before)
    }
    assert.deepEqual(index.slice(0, model.length + 1), model)
    for (const item of model) index.remove(item)
    assert.equal(index.size, 0)
  })

  for (const [name, next] of Object.entries({
    front: () => 0,
    back: (size: number) => size - 1,
    middle: (size: number) => size >> 1,
  })) {
    it(`of three levels can be emptied from the ${name}, and filled again`, () => {
      const model = Array.from({ length: 20_000 }, (_, i) => i)
      const index = new SortedIndex(byNumber, model)
      while (model.length > 0) {
        const position = next(model.length)
        index.remove(model[position] ?? -1)
        model.splice(position, 1)
        if (model.length % 997 === 0) assertSame(index, model)
      }
      assertSame(index, [])
      for (let item = 300; item > 0; item--) toggle(index, model, item)
      assertSame(index, model)
    })
  }

  it('of several levels can be emptied in random order', (t) => {
    const random = seededRandom(t)
    const model = Array.from({ length: 20_000 }, (_, i) => i)
    const index = new SortedIndex(byNumber, model)
    while (model.length > 0) toggle(index, model, random.pick(model))
    assertSame(index, [])
  })

  for (const size of [0, 1, 50, 20_000]) {
    it(`keeps ${size} frozen items unchanged, whatever changes while they are read`, (t) => {
      const random = seededRandom(t)
      const model = Array.from({ length: size }, (_, i) => 2 * i)
      const index = new SortedIndex(byNumber, model)
      for (let again = 0; again < 3; again++) {
        const expected = [...model]
        const found: number[] = []
        const change = (times: number) => {
          for (let i = 0; i < times; i++) toggle(index, model, random.integer(0, 2 * size + 2))
        }
        const frozen = index.freeze()
        change(100)
        for (const item of frozen) {
          found.push(item)
          if (random.integer(0, 9) === 0) change(1)
        }
        assert.deepEqual(found, expected)
        assertSame(index, model)
      }
    })
  }

  it('keeps the frozen items of a node unchanged when it merges with its neighbour', () => {
    const index = new SortedIndex(
      byNumber,
      Array.from({ length: 192 }, (_, i) => i),
    )
    for (let item = 10; item < 96; item++) index.remove(item)
    const expected = index.slice(0, index.size)
    const frozen = index.freeze()
    for (let item = 96; item < 192; item++) index.remove(item)
    assert.deepEqual([...frozen], expected)
  })

  it('removes and replaces an item without comparing it with its neighbours', () => {
    const compared: number[] = []
    const compare = (a: number, b: number) => {
      compared.push(a, b)
      return a - b
    }
    const index = new SortedIndex(
      compare,
      Array.from({ length: 50 }, (_, i) => i),
    )
    index.remove(20)
    index.replace(30, 30)
    assert.deepEqual(compared, [30, 30])
    assert.throws(() => index.remove(20), RangeError)
  })

  it('returns a page from a million items in logarithmic time', () => {
    let comparisons = 0
    const counting = (a: number, b: number) => {
      comparisons += 1
      return a - b
    }
    const index = new SortedIndex(
      counting,
      Array.from({ length: 1_000_000 }, (_, i) => 2 * i),
    )
    assert.deepEqual(index.slice(777_777, 2), [1_555_554, 1_555_556])
    index.insert(1_555_555)
    index.remove(0)
    assert.ok(comparisons < 100, String(comparisons))
    assert.deepEqual(index.slice(777_776, 3), [1_555_554, 1_555_555, 1_555_556])
  })

  it('makes a changed copy, after which either changes alone', (t) => {
    const random = seededRandom(t)
    for (let round = 0; round < 60; round++) {
      const size = random.pick([0, 1, 100, 700])
      const model = Array.from({ length: size }, (_, i) => 10 * i)
      const index = new SortedIndex(byNumber, model)
      const removed = random.pick([0, 1, 5, size])
      const gone = new Set(Array.from({ length: Math.min(removed, size) }, () => random.pick(model)))
      const added = Array.from(
        new Set(Array.from({ length: random.pick([0, 1, 5, 900]) }, () => 10 * random.integer(-9, 800) + 5)),
      )
      added.sort(byNumber)
      const changed = runAtOnce(index.changedBy({ gone, added }))
      const changedModel = [...model.filter((item) => !gone.has(item)), ...added].sort(byNumber)
      assertSame(changed, changedModel)
      assertSame(index, model)
      for (let step = 0; step < 300; step++) {
        toggle(index, model, random.integer(0, 8_000))
        toggle(changed, changedModel, random.integer(0, 8_000))
      }
      assertSame(changed, changedModel)
      assertSame(index, model)
    }
  })

  it('takes a replacement of the same rank as one that leaves and one that comes', () => {
    const items = Array.from({ length: 300 }, (_, key) => ({ key, text: 'old' }))
    const index = new SortedIndex<{ key: number; text: string }>((a, b) => a.key - b.key, items)
    const added = items.filter(({ key }) => key % 7 === 0).map(({ key }) => ({ key, text: 'new' }))
    const gone = new Set(items.filter(({ key }) => key % 7 === 0))
    const changed = runAtOnce(index.changedBy({ gone, added }))
    assert.deepEqual(
      changed.slice(0, 400),
      items.map(({ key }) => ({ key, text: key % 7 === 0 ? 'new' : 'old' })),
    )
    assert.deepEqual(index.slice(0, 400), items)
  })

  it('makes a copy in steps of few items, wherever others come', () => {
    const middle = Array.from({ length: 5_000 }, (_, i) => i + 1)
    const end = middle.map((item) => item + 10_000)
    const work = new SortedIndex(byNumber, [0, 10_000]).changedBy({
      gone: new Set(),
      added: [...middle, ...end],
    })
    let steps = 1
    while (!work.next().done) steps += 1
    assert.ok(steps > 10_000 / 128, `${steps} steps`)
  })

  it('refuses to remove in a copy what is not there', () => {
    const index = new SortedIndex(byNumber, [1, 2, 3])
    assert.throws(() => runAtOnce(index.changedBy({ gone: new Set([2, 9]), added: [] })), RangeError)
    assertSame(index, [1, 2, 3])
  })
})
