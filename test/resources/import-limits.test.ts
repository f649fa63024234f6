import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createImportReader } from '../../src/exchange/import-reader.ts'
import { IMPORT_BYTES_MAX, IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { importLimitsFor } from '../../src/resources/import-limits.ts'

const MEBIBYTE = 1024 * 1024

describe('an import', () => {
  it('must be smaller where there is little memory', () => {
    const full = { bytesMax: IMPORT_BYTES_MAX, rowsMax: IMPORT_ROWS_MAX }
    assert.deepEqual(importLimitsFor(0, 600 * MEBIBYTE), full)
    assert.deepEqual(importLimitsFor(0, 48 * MEBIBYTE), { bytesMax: 4 * MEBIBYTE, rowsMax: 24_576 })
  })

  it('must be smaller where records take the memory', () => {
    const half = { bytesMax: 2 * MEBIBYTE, rowsMax: 12_288 }
    assert.deepEqual(importLimitsFor(24 * MEBIBYTE, 48 * MEBIBYTE), half)
  })

  it('may have some rows in any memory', () => {
    const least = { bytesMax: MEBIBYTE / 4, rowsMax: 1_536 }
    assert.deepEqual(importLimitsFor(48 * MEBIBYTE, 48 * MEBIBYTE), least)
  })

  it('is read up to the rows that it may have', () => {
    const rows = ['a', 'b', 'c'].map((name) => `${name},h,1,u\n`).join('')
    const reader = createImportReader('csv', 10, 2)
    reader.read(Buffer.from(`name,hostname,port,username\n${rows}`))
    const { faults } = reader.end()
    assert.deepEqual(
      faults.map(({ detail }) => detail),
      [
        'has more than 2 rows; nothing behind them was read; make it several files, or give connbook more memory',
      ],
    )
  })
})
