import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MEMORY_MIB_MIN } from '../../src/limits.ts'
import { warnOfShortMemory } from '../../src/service/memory.ts'
import { recordMemoryMax } from '../../src/store/record-room.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const LEAST_BYTES = MEMORY_MIB_MIN * 1024 * 1024

describe('a server with less memory than connbook needs', () => {
  it('warns, and says how much is needed', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES - 1, 0, log, 1)
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
    warnOfShortMemory(400 * mebibyte, 262 * mebibyte, log, 262 * mebibyte)
    const { memory_mib, needed_mib } = JSON.parse(log.lines[0] ?? '')
    assert.equal(memory_mib, 400)
    assert.equal(needed_mib, 456)
    // With that much, it would not warn.
    const heap = (needed_mib * 3 * mebibyte) / 4
    assert.ok(recordMemoryMax(needed_mib * mebibyte, heap) > 262 * mebibyte)
  })
})

describe('a server with enough memory', () => {
  it('does not warn', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES, 0, log, 1)
    assert.deepEqual(log.events, [])
  })
})
