import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MEMORY_MIB_MIN } from '../../src/limits.ts'
import { warnOfShortMemory } from '../../src/service/memory.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const LEAST_BYTES = MEMORY_MIB_MIN * 1024 * 1024

describe('a server with less memory than connbook needs', () => {
  it('warns, and says how much is needed', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES - 1, log)
    const { level, event, memory_mib, needed_mib, remedy } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([level, event], ['warn', 'memory_short'])
    assert.deepEqual([memory_mib, needed_mib], [MEMORY_MIB_MIN - 1, MEMORY_MIB_MIN])
    assert.match(remedy, /MemoryMax=/)
  })
})

describe('a server with enough memory', () => {
  it('does not warn', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES, log)
    assert.deepEqual(log.events, [])
  })
})
