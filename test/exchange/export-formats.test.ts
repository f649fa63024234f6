import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exportFormatNames, exportFormats, findExportFormat } from '../../src/exchange/export-formats.ts'

describe('the formats of an export', () => {
  it('are found by their names', () => {
    for (const name of exportFormatNames) assert.equal(findExportFormat(name), exportFormats[name])
  })

  it('are no others, and no member of an object', () => {
    for (const name of ['', 'xml', 'JSON', '__proto__', 'constructor', 'toString'])
      assert.equal(findExportFormat(name), undefined)
  })
})
