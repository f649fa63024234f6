import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { forEachLine } from '../../src/files/lines.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { memoryFile } from '../support/properties/memory-files.ts'

describe('reading lines', () => {
  it('returns the text between newlines, however the bytes are split into reads', async (t) => {
    const bytes = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.nat({ max: 255 }) },
        { weight: 2, arbitrary: fc.constantFrom(0x0a, 0x0d, 0x00) },
      ),
      { maxLength: 40 },
    )
    const readSizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })
    await holdLaterFor(t, fc.tuple(bytes, readSizes), async ([some, sizes]) => {
      const content = Buffer.from(some)
      const found: [text: string, offset: number, isWhole: boolean][] = []
      await forEachLine(memoryFile(content, sizes), (line, offset, isWhole) => {
        found.push([line.toString('latin1'), offset, isWhole])
      })
      const texts = content.toString('latin1').split('\n')
      const rest = texts.pop() ?? ''
      let offset = 0
      const expected = texts.map((text) => {
        offset += text.length + 1
        return [text, offset - text.length - 1, true]
      })
      if (rest !== '') expected.push([rest, offset, false])
      assert.deepEqual(found, expected)
    })
  })
})
