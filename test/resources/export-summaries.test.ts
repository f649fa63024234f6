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
      assert.equal(summaries.find('ansible', 7), undefined)
      assert.equal(summaries.keep('ansible', 7, first), first)
      assert.equal(summaries.find('ansible', 7), first)
      assert.equal(summaries.find('env', 7), undefined)
      // Two were made at the same time.
      assert.equal(summaries.keep('ansible', 7, second), first)
      assert.equal(summaries.keep('ansible', 8, newer), newer)
      assert.equal(summaries.keep('ansible', 7, late), late)
      assert.equal(summaries.find('ansible', 8), newer)
      assert.equal(summaries.find('ansible', 7), undefined)
    })
  }
})
