import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createImportReader } from '../../src/exchange/import-reader.ts'
import { IMPORT_BYTES_MAX } from '../../src/limits.ts'
import { importLimitsFor } from '../../src/resources/import-limits.ts'

const MEBIBYTE = 1024 * 1024

describe('an import', () => {
  it('must be smaller where there is little memory', () => {
    const full = { bytesMax: IMPORT_BYTES_MAX, memoryMax: 225 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(0, 600 * MEBIBYTE), full)
    const small = { bytesMax: 4 * MEBIBYTE, memoryMax: 18 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(0, 48 * MEBIBYTE), small)
  })

  it('must be smaller where records take the memory', () => {
    const half = { bytesMax: 2 * MEBIBYTE, memoryMax: 9 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(24 * MEBIBYTE, 48 * MEBIBYTE), half)
  })

  it('may have some rows in any memory', () => {
    const least = { bytesMax: MEBIBYTE / 4, memoryMax: 1.125 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(48 * MEBIBYTE, 48 * MEBIBYTE), least)
  })

  /** The faults of rows with so many labels each, and how many of them were read. */
  function readIn(memoryMax: number, rows: number, labels: number) {
    const reader = createImportReader('jsonl', 10, { memoryMax })
    for (let i = 0; i < rows; i++) {
      const keys = Array.from({ length: labels }, (_, at) => [`key-${i}-${at}`, ''])
      const row = { name: `n${i}`, hostname: 'h', port: 1, username: 'u', labels: Object.fromEntries(keys) }
      reader.read(Buffer.from(`${JSON.stringify(row)}\n`))
    }
    const { drafts, faults } = reader.end()
    return { read: drafts.length, details: faults.map(({ line, detail }) => `${line} ${detail}`) }
  }

  it('is read until its rows take the memory that they may have', () => {
    const { read, details } = readIn(MEBIBYTE, 10_000, 0)
    assert.ok(read > 1_000 && read < 2_000, String(read))
    assert.deepEqual(details, [
      `${read} needs more than 1.0 MiB of memory up to this row; nothing behind it was read; make it several files, or give connbook more memory`,
    ])
  })

  it('may have fewer rows with many labels', () => {
    const [{ read: without }, { read: few }] = [readIn(MEBIBYTE, 10_000, 0), readIn(MEBIBYTE, 10_000, 32)]
    assert.ok(few < without / 8, `${few} of ${without}`)
  })

  it('also counts the names of faulty rows', () => {
    const reader = createImportReader('csv', 1, { memoryMax: MEBIBYTE })
    const rows = Array.from({ length: 200 }, (_, i) => `${i}${'x'.repeat(10_000)},h,1,u\n`)
    reader.read(Buffer.from(`name,hostname,port,username\n${rows.join('')}`))
    assert.ok(reader.end().faultCount < 60)
  })
})
