import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importFormatNames } from '../../src/exchange/import-reader.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { assertFaultsCounted, assertRowsRead, read } from './read-text.ts'

const indexes = Array.from({ length: IMPORT_ROWS_MAX }, (_, i) => i)

describe('an import of any format', () => {
  it(`reads ${IMPORT_ROWS_MAX} rows, and none after them`, () => {
    assertRowsRead(IMPORT_ROWS_MAX)
  })

  for (const format of importFormatNames) {
    it(`may have a fault in each row, and keeps the first: ${format}`, () =>
      assertFaultsCounted(format, IMPORT_ROWS_MAX, FAULTS_MAX))

    for (const encoding of ['utf8', 'utf16le'] as const) {
      it(`ends at a line of 16 MiB, or takes it for what it is: ${format} in ${encoding}`, () => {
        const line = 'x'.repeat(16 * 1024 * 1024)
        for (const text of [line, `"${line}`, `{"${line}`, `[${line}`, `Host ${line}`]) {
          const { drafts, faults, read: form } = read(format, Buffer.from(`\ufeff${text}`, encoding), 65_536)
          assert.deepEqual([drafts, form.first], [[], []])
          assert.ok(faults.length > 0 && JSON.stringify(faults).length < 1_000, text.slice(0, 9))
        }
      })
    }
  }
})

describe('an inventory of Ansible', () => {
  it('may have no more hosts than an import has rows', () => {
    const hosts = [...indexes, IMPORT_ROWS_MAX].map((i) => `h${i}`)
    const { faults } = read('ansible', JSON.stringify({ a: { hosts } }), 65_536)
    assert.deepEqual(
      faults.map(({ detail }) => detail),
      [`has more than ${IMPORT_ROWS_MAX} hosts; make it several files`],
    )
  })

  it('may have groups within groups in any number, and ends', () => {
    const chain = indexes.slice(0, 40_000).map((i) => [`g${i}`, { children: [`g${i + 1}`], hosts: ['h'] }])
    const { faults } = read('ansible', JSON.stringify(Object.fromEntries(chain)), 65_536)
    assert.deepEqual(
      faults.map(({ detail }) => detail),
      ['has groups that hold each other too often to be followed'],
    )
  })
})
