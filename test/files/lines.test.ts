import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { forEachLine } from '../../src/files/lines.ts'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MIB = 1024 * 1024
/** Where the chunks of a file end: the first is smaller. */
const borders = [64 * 1024, 64 * 1024 + MIB, 64 * 1024 + 2 * MIB]

interface Line {
  length: number
  first: string
  offset: number
  isWhole: boolean
}

/** The lines found in a file made of these parts. */
async function linesOf(
  t: TestContext,
  parts: (string | Buffer)[],
  readBytesMax = Number.POSITIVE_INFINITY,
): Promise<Line[]> {
  const path = join(await temporaryFolder(t), 'lines')
  await writeFile(path, parts)
  const files = createFailingFiles()
  files.readBytesMax = readBytesMax
  const file = await files.open(path, 'r')
  t.after(() => file.close())
  const found: Line[] = []
  await forEachLine(file, (line, offset, isWhole) => {
    found.push({ length: line.length, first: line.toString('latin1', 0, 1), offset, isWhole })
  })
  return found
}

describe('reading lines', () => {
  it('returns lines of any length around the borders of chunks', async (t) => {
    // Two bytes come before the line, and a newline after it.
    const around = borders.flatMap((border) => [-4, -3, -2, -1, 0, 1].map((more) => border + more))
    for (const length of [0, 1, ...around, MIB, 3 * MIB + 5]) {
      const found = await linesOf(t, ['a\n', Buffer.alloc(length, 'b'), '\nc\n'])
      assert.deepEqual(found, [
        { length: 1, first: 'a', offset: 0, isWhole: true },
        { length, first: length === 0 ? '' : 'b', offset: 2, isWhole: true },
        { length: 1, first: 'c', offset: length + 3, isWhole: true },
      ])
    }
  })

  it('returns the same bytes, however few each read returns', async (t) => {
    const whole = await linesOf(t, ['one\n\nthree\nfour'])
    for (const readBytesMax of [1, 2, 3, 5]) {
      assert.deepEqual(await linesOf(t, ['one\n\nthree\nfour'], readBytesMax), whole)
    }
    assert.deepEqual(
      whole.map(({ first }) => first),
      ['o', '', 't', 'f'],
    )
  })

  it('reports that the last line has no newline', async (t) => {
    assert.deepEqual(await linesOf(t, []), [])
    assert.deepEqual(await linesOf(t, ['a']), [{ length: 1, first: 'a', offset: 0, isWhole: false }])
    const [, last] = await linesOf(t, ['a\n', Buffer.alloc(MIB, 'b')])
    assert.deepEqual(last, { length: MIB, first: 'b', offset: 2, isWhole: false })
  })

  it('returns a line of LINE_BYTES_MAX bytes, and for a longer one an empty line that is not whole', async (t) => {
    const longest = Buffer.alloc(LINE_BYTES_MAX + 2 * MIB, 'b')
    for (const [bytes, length, isWhole] of [
      [LINE_BYTES_MAX - 1, LINE_BYTES_MAX - 1, true],
      [LINE_BYTES_MAX, LINE_BYTES_MAX, true],
      [LINE_BYTES_MAX + 1, 0, false],
      [LINE_BYTES_MAX + 2 * MIB, 0, false],
    ] as const) {
      const found = await linesOf(t, ['a\n', longest.subarray(0, bytes), '\nc\n'])
      assert.deepEqual(found[1], { length, first: length === 0 ? '' : 'b', offset: 2, isWhole })
      assert.deepEqual(found[2], { length: 1, first: 'c', offset: bytes + 3, isWhole: true })
    }
    const [, cut] = await linesOf(t, ['a\n', longest.subarray(0, LINE_BYTES_MAX + 1)])
    assert.deepEqual(cut, { length: 0, first: '', offset: 2, isWhole: false })
  })
})
