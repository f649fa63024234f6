import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ExportFormat } from '../../src/exchange/export-format.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { importFormatNames } from '../../src/exchange/import-reader.ts'
import { fieldNames } from '../../src/store/fields.ts'
import { readChapterNamed } from './published.ts'

const [formats = ''] =
  /^## Formats\n[\s\S]*?(?=^## )/m.exec(readChapterNamed('export')) ?? assert.fail('no formats')

const cellsOf = (row: string) =>
  row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

describe('the chapters "import" and "export"', () => {
  const [, , ...rows] = (formats.match(/^\|.*\|$/gm) ?? []).map(cellsOf)

  it('have a row for each export format, in the order of the formats', () => {
    assert.deepEqual(
      rows.map(([name]) => name),
      Object.keys(exportFormats).map((name) => `\`${name}\``),
    )
  })

  it('say what a format cannot express where there is such a thing, and only there', () => {
    for (const [i, format] of Object.values<ExportFormat>(exportFormats).entries()) {
      const [name, , cannot] = rows[i] ?? []
      assert.equal(cannot !== '', format.obstacle !== undefined, name ?? 'no row')
    }
  })

  it('name the formats of imports on the first screen, and the columns of CSV', () => {
    const first = readChapterNamed('import').split(/^## /m)[0] ?? ''
    const named = importFormatNames.map((name) => `\`${name}\``)
    const sentence = `It reads ${named.slice(0, -1).join(', ')} and ${named.at(-1)}:`
    assert.ok(first.replaceAll('\n', ' ').includes(sentence), sentence)
    assert.ok(rows[2]?.[1]?.includes(fieldNames.join(',')))
  })
})
