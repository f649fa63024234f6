import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SEARCH_COUNTS_MAX } from '../../src/limits.ts'
import { CountMemory } from '../../src/resources/count-memory.ts'

describe('the memory of counts', () => {
  it('keeps a count until a record changes', () => {
    const memory = new CountMemory()
    memory.add('q=a', 't7', 0)
    memory.add('q=b', 't7', 3)
    assert.deepEqual(
      [memory.find('q=a', 't7'), memory.find('q=b', 't7'), memory.find('q=c', 't7')],
      [0, 3, undefined],
    )
    assert.equal(memory.find('q=a', 't8'), undefined)
    memory.add('q=c', 't8', 1)
    assert.deepEqual([memory.find('q=a', 't8'), memory.find('q=c', 't8')], [undefined, 1])
  })

  it('forgets the oldest count first', () => {
    const memory = new CountMemory()
    for (let i = 0; i < SEARCH_COUNTS_MAX; i++) memory.add(`${i}`, 't1', i)
    memory.add('0', 't1', 0)
    memory.add('new', 't1', 5)
    assert.deepEqual(
      ['0', '1', '2', 'new'].map((search) => memory.find(search, 't1')),
      [0, undefined, 2, 5],
    )
  })
})
