import './support/node-version.ts'
import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { describe, it } from 'node:test'
import { getHeapStatistics } from 'node:v8'
import {
  HEAP_SHARE,
  heapBytesMax,
  memoryBytes,
  memoryNeededFor,
  recordMemoryMax,
  shareOf,
} from '../src/budget.ts'
import { nodeOptions } from '../src/built.ts'
import { MEMORY_MIB_MIN, RECORDS_MEMORY_LEAST_BYTES } from '../src/limits.ts'

const MEBIBYTE = 1024 * 1024
const YOUNG_BYTES = 24 * MEBIBYTE
const SHARES = [
  'connections',
  'waiting',
  'untaken',
  'arriving',
  'keptVersions',
  'exportNotes',
  'labelCounts',
] as const

const heapOf = (memory: number) => memory * HEAP_SHARE + YOUNG_BYTES
const sharesOf = (memory: number) => SHARES.reduce((sum, share) => sum + shareOf(share, memory), 0)

describe('the budget of the memory', () => {
  it('gives records what the process and all shares leave, and never nothing', () => {
    const memory = 256 * MEBIBYTE
    const process = memory - sharesOf(memory) - recordMemoryMax(memory, memory)
    const larger = 300 * MEBIBYTE
    assert.equal(recordMemoryMax(larger, larger) + sharesOf(larger) + process, larger)
    assert.equal(recordMemoryMax(1, 1), RECORDS_MEMORY_LEAST_BYTES)
  })

  it('gives records no more than JavaScript may use', () => {
    const memory = 1024 * MEBIBYTE
    const [half, less] = [memory / 2, memory / 4]
    assert.equal(recordMemoryMax(memory, half) - recordMemoryMax(memory, less), half - less)
  })

  it(`has room for more than the least records from ${MEMORY_MIB_MIN} MiB on`, () => {
    const memory = MEMORY_MIB_MIN * MEBIBYTE
    assert.ok(recordMemoryMax(memory, heapOf(memory)) > 8 * RECORDS_MEMORY_LEAST_BYTES)
    assert.equal(recordMemoryMax(128 * MEBIBYTE, heapOf(128 * MEBIBYTE)), RECORDS_MEMORY_LEAST_BYTES)
  })

  it('says with how much memory records may take as much', () => {
    for (const mebibytes of [192, 256, 512, 1024]) {
      const memory = mebibytes * MEBIBYTE
      const needed = memoryNeededFor(recordMemoryMax(memory, heapOf(memory)))
      assert.ok(Math.abs(needed - memory) < 1, `${needed / MEBIBYTE}`)
    }
  })

  it('lets shares grow up to 8 GiB', () => {
    assert.equal(shareOf('connections', 2 ** 33), 2 ** 30)
    assert.equal(shareOf('connections', 2 ** 40), 2 ** 30)
  })

  it('counts on the share for JavaScript that the build sets', () => {
    assert.ok(nodeOptions.includes(`--max-old-space-size-percentage=${HEAP_SHARE * 100}`))
  })
})

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
