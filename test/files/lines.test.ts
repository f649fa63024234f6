import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OpenFile } from '../../src/files/file-system.ts'
import { forEachLine } from '../../src/files/lines.ts'

const MIB = 1024 * 1024
/** Where the chunks of a file end: the first is smaller. */
const borders = [64 * 1024, 64 * 1024 + MIB, 64 * 1024 + 2 * MIB]

interface Line {
  length: number
  first: string
  offset: number
  isWhole: boolean
}

/** The lines found in a file made of these parts, of which each read returns so many bytes at most. */
async function linesOf(
  parts: readonly (string | Buffer)[],
  {
    readBytesMax = Number.POSITIVE_INFINITY,
    lineBytesMax,
  }: { readBytesMax?: number; lineBytesMax?: number } = {},
): Promise<Line[]> {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const file = fileOf(buffers, readBytesMax)
  const found: Line[] = []
  await forEachLine(
    file,
    (line, offset, isWhole) => {
      found.push({ length: line.length, first: line.toString('latin1', 0, 1), offset, isWhole })
    },
    lineBytesMax,
  )
  return found
}

/** A file of these parts, of which a read gives so many bytes at most. */
function fileOf(parts: readonly Buffer[], readBytesMax: number): Pick<OpenFile, 'read'> {
  return {
    async read(into, offset, length, position) {
      const wanted = Math.min(length, readBytesMax)
      let [bytesRead, start] = [0, 0]
      for (const part of parts) {
        const from = Math.max(0, position + bytesRead - start)
        if (from < part.length && bytesRead < wanted)
          bytesRead += part.copy(into, offset + bytesRead, from, from + wanted - bytesRead)
        start += part.length
      }
      return { bytesRead }
    },
  }
}

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
      assert.deepEqual(await linesOf(['one\n\nthree\nfour'], { readBytesMax }), whole)
    }
    assert.deepEqual(
      whole.map(({ first }) => first),
      ['o', '', 't', 'f'],
    )
  })

  it('returns for a line that is too long an empty one that is not whole, and goes on behind it', async () => {
    const lineBytesMax = MIB
    const longest = Buffer.alloc(3 * MIB, 'b')
    for (const [bytes, length, isWhole] of [
      [lineBytesMax - 1, lineBytesMax - 1, true],
      [lineBytesMax, lineBytesMax, true],
      [lineBytesMax + 1, 0, false],
      [3 * MIB, 0, false],
    ] as const) {
      const found = await linesOf(['a\n', longest.subarray(0, bytes), '\nc\n'], { lineBytesMax })
      assert.deepEqual(found[1], { length, first: length === 0 ? '' : 'b', offset: 2, isWhole })
      assert.deepEqual(found[2], { length: 1, first: 'c', offset: bytes + 3, isWhole: true })
    }
    const [, cut] = await linesOf(['a\n', longest.subarray(0, lineBytesMax + 1)], { lineBytesMax })
    assert.deepEqual(cut, { length: 0, first: '', offset: 2, isWhole: false })
  })

  it('reports that the last line has no newline', async () => {
    assert.deepEqual(await linesOf([]), [])
    assert.deepEqual(await linesOf(['a']), [{ length: 1, first: 'a', offset: 0, isWhole: false }])
    const [, last] = await linesOf(['a\n', Buffer.alloc(MIB, 'b')])
    assert.deepEqual(last, { length: MIB, first: 'b', offset: 2, isWhole: false })
  })
})
