import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ImportOptions, noImportOptions } from '../../src/exchange/import-options.ts'
import { importFormatNames } from '../../src/exchange/import-reader.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { assertFaultsCounted, assertRowsRead, HEADER, read } from './read-text.ts'

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

describe('a dialect of CSV', () => {
  const count = 100_000
  const rows = (separator: string, ...labels: string[]) =>
    indexes
      .slice(0, count)
      .map((i) => [`host-${i}`, `host-${i}.example.net`, '22', 'deploy', ...labels].join(separator))
  const fileOf = (separator: string) => [HEADER.replaceAll(',', separator), ...rows(separator)].join('\r\n')
  const usual = Buffer.from(fileOf(','))
  const utf16 = Buffer.from(`\ufeff${fileOf(',')}`, 'utf16le')
  const inOneColumn = Buffer.from([`${HEADER},labels`, ...rows(',', 'env=prod;rack=r1')].join('\n'))
  const inTwoColumns = Buffer.from([`${HEADER},Env,Rack`, ...rows(',', 'prod', 'r1')].join('\n'))
  const asLabels = { ...noImportOptions, extra: 'labels' } as const

  for (const [what, file, plain, options] of [
    ['with semicolons', Buffer.from(fileOf(';')), usual, noImportOptions],
    ['with tabs', Buffer.from(fileOf('\t')), usual, noImportOptions],
    ['with bars', Buffer.from(fileOf('|')), usual, noImportOptions],
    ['in UTF-16', utf16, usual, noImportOptions],
    ['in UTF-16, the other way round', Buffer.from(utf16).swap16(), usual, noImportOptions],
    ['with a column for each label', inTwoColumns, inOneColumn, asLabels],
  ] as const) {
    it(`takes at most 1.3 times the CPU time of the usual one: ${what}`, (t) => {
      const [own, others]: [number[], number[]] = [[], []]
      for (let round = 0; round < 7; round++) {
        own.push(cpuMilliseconds(file, options))
        others.push(cpuMilliseconds(plain, noImportOptions))
      }
      const ratio = medianOf(own) / medianOf(others)
      t.diagnostic(`${medianOf(own).toFixed()} ms, ${ratio.toFixed(2)} times`)
      assert.ok(ratio <= 1.3, `${ratio}`)
    })
  }

  function cpuMilliseconds(file: Buffer, options: ImportOptions): number {
    const before = process.threadCpuUsage()
    assert.equal(read('csv', file, 65_536, 100, undefined, options).drafts.length, count)
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  }
})

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

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
