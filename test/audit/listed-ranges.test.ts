import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LISTED_RANGES_MAX, ListedRanges } from '../../src/audit/listed-ranges.ts'

describe('ranges of listed changes', () => {
  it('grow together, in whatever order the changes come', () => {
    const orders = [
      [1, 2, 3, 4],
      [4, 3, 2, 1],
      [1, 3, 2, 4],
      [4, 1, 3, 2],
      [2, 2, 4, 4, 1, 3, 1],
    ]
    for (const order of orders) {
      const listed = new ListedRanges()
      for (const each of order) if (!listed.extend(each)) listed.add(each - 1, each, `time ${each}`)
      assert.deepEqual(listed.find(4), { after: 0, upTo: 4, time: 'time 1' }, String(order))
    }
  })

  it('are found by any of their revisions, and by the one before them', () => {
    const listed = new ListedRanges()
    listed.add(4, 6, 'a')
    listed.add(8, 9, 'b')
    const found = [3, 4, 5, 6, 7, 8, 9, 10].map((each) => listed.find(each)?.time)
    assert.deepEqual(found, [undefined, 'a', 'a', 'a', undefined, 'b', 'b', undefined])
  })

  it('take the earlier of two times for the same revision', () => {
    const listed = new ListedRanges()
    listed.add(4, 5, 'later')
    listed.add(4, 4, 'earlier')
    listed.add(4, 4, 'later')
    assert.deepEqual(listed.find(5), { after: 4, upTo: 5, time: 'earlier' })
  })

  it('are at most LISTED_RANGES_MAX, the highest ones', () => {
    const listed = new ListedRanges()
    for (let i = 0; i < LISTED_RANGES_MAX + 2; i++) listed.add(10 * i, 10 * i + 1, `${i}`)
    assert.equal(listed.find(11), undefined)
    assert.equal(listed.find(21)?.time, '2')
  })
})
