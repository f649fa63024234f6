import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ExportSummary } from '../../src/exchange/export.ts'
import { SUMMARY_KEPT_BYTES_MAX } from '../../src/limits.ts'
import { ExportSummaries } from '../../src/resources/export-summaries.ts'

const summary = (notedBytes: number): ExportSummary => ({
  bytes: 0,
  count: 0,
  leftOut: 0,
  obstacles: [],
  clashes: new Set(),
  tail: undefined,
  notedBytes,
})

describe('the summaries of exports', () => {
  for (const notedBytes of [0, SUMMARY_KEPT_BYTES_MAX + 1]) {
    it(`are those of the newest revision, with ${notedBytes} bytes of notes`, () => {
      const summaries = new ExportSummaries()
      const [first, second, late, newer] = [1, 2, 3, 4].map(() => summary(notedBytes))
      assert.ok(first && second && late && newer)
      const [seven, eight] = [7, 8].map((revision) => ({ tag: `a-${revision}`, revision }))
      assert.ok(seven && eight)
      assert.equal(summaries.find('ansible', seven.tag), undefined)
      assert.equal(summaries.keep('ansible', seven, first), first)
      assert.equal(summaries.find('ansible', seven.tag), first)
      assert.equal(summaries.find('env', seven.tag), undefined)
      // Two were made at the same time.
      assert.equal(summaries.keep('ansible', seven, second), first)
      assert.equal(summaries.keep('ansible', eight, newer), newer)
      assert.equal(summaries.keep('ansible', seven, late), late)
      assert.equal(summaries.find('ansible', eight.tag), newer)
      assert.equal(summaries.find('ansible', seven.tag), undefined)
    })
  }
})
