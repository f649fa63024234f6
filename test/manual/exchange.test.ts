import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ExportFormat } from '../../src/exchange/export-format.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { importFormatNames } from '../../src/exchange/import-reader.ts'
import { fieldNames } from '../../src/store/fields.ts'
import { readChapterNamed } from './published.ts'

const text = readChapterNamed('exchange')

/** The text below a heading, up to the next one. */
function sectionOf(heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? assert.fail(heading)
}

const cellsOf = (row: string) =>
  row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

describe('the chapter "exchange"', () => {
  const [, , ...rows] = (sectionOf('Formats').match(/^\|.*\|$/gm) ?? []).map(cellsOf)

  it('has a row for each export format, in the order of the formats', () => {
    assert.deepEqual(
      rows.map(([name]) => name),
      Object.keys(exportFormats).map((name) => `\`${name}\``),
    )
  })

  it('tells what a format cannot express where there is such a thing, and only there', () => {
    for (const [i, format] of Object.values<ExportFormat>(exportFormats).entries()) {
      const [name, , cannot] = rows[i] ?? []
      assert.equal(cannot !== '', format.obstacle !== undefined, name ?? 'no row')
    }
  })

  it('names the formats of imports and the columns of CSV', () => {
    const formats = importFormatNames.map((name) => `\`${name}\``)
    const named = `${formats.slice(0, -1).join(', ')} and ${formats.at(-1)}`
    assert.ok(sectionOf('Import').includes(`connbook imports ${named}.`))
    assert.ok(rows[2]?.[1]?.includes(fieldNames.join(',')))
  })
})
