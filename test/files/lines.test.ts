import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { linesOf } from './lines-of.ts'

const MIB = 1024 * 1024
/** Where the chunks of a file end: the first is smaller. */
const borders = [64 * 1024, 64 * 1024 + MIB, 64 * 1024 + 2 * MIB]

describe('reading lines', () => {
  it('returns lines of any length around the borders of chunks', async () => {
    // Two bytes come before the line, and a newline after it.
    const around = borders.flatMap((border) => [-4, -3, -2, -1, 0, 1].map((more) => border + more))
    for (const length of [0, 1, ...around, MIB, 3 * MIB + 5]) {
      const found = await linesOf(['a\n', Buffer.alloc(length, 'b'), '\nc\n'])
      assert.deepEqual(found, [
        { length: 1, first: 'a', offset: 0, isWhole: true },
        { length, first: length === 0 ? '' : 'b', offset: 2, isWhole: true },
        { length: 1, first: 'c', offset: length + 3, isWhole: true },
      ])
    }
  })

  it('returns the same bytes, however few each read returns', async () => {
    const whole = await linesOf(['one\n\nthree\nfour'])
    for (const readBytesMax of [1, 2, 3, 5]) {
      assert.deepEqual(await linesOf(['one\n\nthree\nfour'], readBytesMax), whole)
    }
    assert.deepEqual(
      whole.map(({ first }) => first),
      ['o', '', 't', 'f'],
    )
  })

  it('reports that the last line has no newline', async () => {
    assert.deepEqual(await linesOf([]), [])
    assert.deepEqual(await linesOf(['a']), [{ length: 1, first: 'a', offset: 0, isWhole: false }])
    const [, last] = await linesOf(['a\n', Buffer.alloc(MIB, 'b')])
    assert.deepEqual(last, { length: MIB, first: 'b', offset: 2, isWhole: false })
  })
})
