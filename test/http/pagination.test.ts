import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { linkHeader } from '../../src/http/pagination.ts'

describe('linkHeader', () => {
  const rows: [page: number, perPage: number, total: number, links: Record<string, number>][] = [
    [0, 10, 0, { first: 0, last: 0 }],
    [0, 10, 10, { first: 0, last: 0 }],
    [0, 10, 11, { first: 0, next: 1, last: 1 }],
    [1, 10, 11, { first: 0, prev: 0, last: 1 }],
    [2, 3, 15, { first: 0, prev: 1, next: 3, last: 4 }],
    [9, 10, 11, { first: 0, prev: 1, last: 1 }],
    [Number.MAX_SAFE_INTEGER, 100, 1, { first: 0, prev: 0, last: 0 }],
  ]
  for (const [page, perPage, total, links] of rows) {
    it(`page ${page} of ${total} records by ${perPage}: ${JSON.stringify(links)}`, () => {
      const expected = Object.entries(links)
        .map(([rel, to]) => `</list/?sort=-name&page=${to}&per_page=${perPage}>; rel="${rel}"`)
        .join(', ')
      assert.equal(linkHeader('/list/?sort=-name&', { page, perPage }, total), expected)
    })
  }
})
