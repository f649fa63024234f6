import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HEAP_SHARE, recordMemoryMax } from '../../src/budget.ts'
import { MEMORY_MIB_MIN } from '../../src/limits.ts'
import { warnOfShortMemory } from '../../src/service/memory.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** Of JavaScript, with what Node adds to its share. */
const heapOf = (memory: number) => memory * HEAP_SHARE + 3 * 8 * 1024 * 1024
const LEAST_BYTES = MEMORY_MIB_MIN * 1024 * 1024

describe('a server with less memory than connbook needs', () => {
  it('warns, and says how much is needed', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES - 1, 0, log)
    const { level, event, memory_mib, needed_mib, remedy } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([level, event], ['warn', 'memory_short'])
    assert.deepEqual([memory_mib, needed_mib], [MEMORY_MIB_MIN - 1, MEMORY_MIB_MIN])
    assert.match(remedy, /MemoryMax=/)
  })
})

describe('a server whose records take all the memory that they may', () => {
  it('warns, and says how much is needed to add more', () => {
    const log = createMemoryLog()
    const mebibyte = 1024 * 1024
    const records = recordMemoryMax(400 * mebibyte)
    warnOfShortMemory(400 * mebibyte, records, log, records)
    const { memory_mib, needed_mib } = JSON.parse(log.lines[0] ?? '')
    assert.equal(memory_mib, 400)
    const needed = needed_mib * mebibyte
    // No less: with this much, there is just more than the records take.
    assert.ok(recordMemoryMax(needed + mebibyte, heapOf(needed + mebibyte)) > records)
    assert.ok(recordMemoryMax(needed - mebibyte, heapOf(needed - mebibyte)) < records)
  })
})

describe('a server with enough memory', () => {
  it('does not warn', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES, 0, log)
    assert.deepEqual(log.events, [])
  })
})
