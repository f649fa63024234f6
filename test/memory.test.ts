import './support/node-version.ts'
import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { describe, it } from 'node:test'
import { getHeapStatistics } from 'node:v8'
import { heapBytesMax, memoryBytes } from '../src/memory.ts'

const heap = getHeapStatistics().heap_size_limit

describe('the memory of this process', () => {
  it('is that of the host, or less in a container', (t) => {
    const constrained = t.mock.method(process, 'constrainedMemory', () => 0)
    assert.equal(memoryBytes(), totalmem())
    constrained.mock.mockImplementation(() => 2 * totalmem())
    assert.equal(memoryBytes(), totalmem())
    constrained.mock.mockImplementation(() => 1000)
    assert.equal(memoryBytes(), 1000)
  })

  it('limits the memory for JavaScript', (t) => {
    const constrained = t.mock.method(process, 'constrainedMemory', () => 0)
    assert.equal(heapBytesMax(), Math.min(heap, totalmem()))
    constrained.mock.mockImplementation(() => heap / 4)
    assert.equal(heapBytesMax(), heap / 4)
  })
})
