import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { draftsOf, faultsOf, HEADER, read } from './read-text.ts'

describe('an import of any format', () => {
  it('keeps faults up to its limit, and counts the others', () => {
    const { faults, faultCount } = read('json', `[${'1,'.repeat(500)}1]`, 100, 10)
    assert.deepEqual([faults.length, faultCount, faults.at(-1)?.line], [10, 501, 1])
  })

  it('reads rows up to its limit, and none after it', () => {
    const row = (i: number) => `${i},h,22,u\n`
    const text = `${HEADER}\n${Array.from({ length: IMPORT_ROWS_MAX + 9 }, (_, i) => row(i)).join('')}`
    assert.deepEqual(faultsOf('csv', text, 65536), [
      `${IMPORT_ROWS_MAX + 2} document has more than ${IMPORT_ROWS_MAX} rows; nothing behind them was read; make it several files`,
    ])
    const whole = text.split('\n').slice(0, IMPORT_ROWS_MAX + 1)
    assert.equal(draftsOf('csv', whole.join('\n'), 65536).length, IMPORT_ROWS_MAX)
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
