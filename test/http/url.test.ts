import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { linkHeader, parseForm } from '../../src/http/url.ts'

describe('parseForm', () => {
  const rows: [text: string, pairs: [string, string][] | undefined][] = [
    ['', []],
    ['&&', []],
    ['a=1', [['a', '1']]],
    [
      'a=1&b=2&a=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    ],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=1', [['', '1']]],
    ['a=b=c', [['a', 'b=c']]],
    ['a+b=c+d', [['a b', 'c d']]],
    ['a=%2B%26%3D%25', [['a', '+&=%']]],
    ['a=%c3%A9', [['a', 'é']]],
    ['a=%2541', [['a', '%41']]],
    ['__proto__=1', [['__proto__', '1']]],
    ['a=%', undefined],
    ['a=%4', undefined],
    ['a=%zz', undefined],
    ['%ff=1', undefined],
    ['a=1&b=%c3', undefined],
    ['a=%ed%a0%80', undefined],
    ['a=%c0%af', undefined],
  ]
  for (const [text, pairs] of rows) {
    it(`${JSON.stringify(text)}: ${JSON.stringify(pairs)}`, () => assert.deepEqual(parseForm(text), pairs))
  }
})

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
