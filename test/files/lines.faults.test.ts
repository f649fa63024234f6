import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { linesOf } from './lines-of.ts'

const MIB = 1024 * 1024

describe('reading lines', () => {
  it('returns a line of LINE_BYTES_MAX bytes, and for a longer one an empty line that is not whole', async () => {
    const longest = Buffer.alloc(LINE_BYTES_MAX + 2 * MIB, 'b')
    for (const [bytes, length, isWhole] of [
      [LINE_BYTES_MAX - 1, LINE_BYTES_MAX - 1, true],
      [LINE_BYTES_MAX, LINE_BYTES_MAX, true],
      [LINE_BYTES_MAX + 1, 0, false],
      [LINE_BYTES_MAX + 2 * MIB, 0, false],
    ] as const) {
      const found = await linesOf(['a\n', longest.subarray(0, bytes), '\nc\n'])
      assert.deepEqual(found[1], { length, first: length === 0 ? '' : 'b', offset: 2, isWhole })
      assert.deepEqual(found[2], { length: 1, first: 'c', offset: bytes + 3, isWhole: true })
    }
    const [, cut] = await linesOf(['a\n', longest.subarray(0, LINE_BYTES_MAX + 1)])
    assert.deepEqual(cut, { length: 0, first: '', offset: 2, isWhole: false })
  })
})
