import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { trimBlanks } from '../../src/http/header-fields.ts'

it('trimBlanks takes no more than linear time for blanks within a text', () => {
  const trim = (blanks: number) => {
    const text = `a${' '.repeat(blanks)}b `
    const began = performance.now()
    for (let i = 0; i < 20; i += 1) assert.equal(trimBlanks(text).length, text.length - 1)
    return performance.now() - began
  }
  trim(60_000)
  const [short, long] = [trim(60_000), trim(16 * 60_000)]
  // A square would be 256.
  assert.ok(long < 100 * Math.max(short, 0.1), `${short} ms, then ${long} ms`)
})
