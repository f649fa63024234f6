import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertRowsRead, read } from './read-text.ts'

describe('an import of any format', () => {
  it('keeps faults up to its limit, and counts the others', () => {
    const { faults, faultCount } = read('json', `[${'1,'.repeat(500)}1]`, 100, 10)
    assert.deepEqual([faults.length, faultCount, faults.at(-1)?.line], [10, 501, 1])
  })

  it('reads rows up to its limit, and none after it', () => {
    assertRowsRead(20)
  })

  it('refuses bytes that are not UTF-8, also at the very end', () => {
    for (const bytes of ['[\xff]', '[\xc3']) {
      assert.throws(
        () => read('json', Buffer.from(bytes, 'latin1')),
        /^InvalidInputError: The text is not valid UTF-8/,
      )
    }
  })
})
