import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isCrossSite } from '../../src/http/cross-site.ts'
import type { Request } from '../../src/http/message.ts'

describe('isCrossSite', () => {
  const rows: [headers: Request['headers'], expected: boolean][] = [
    [{ host: 'book' }, false],
    [{ host: 'book', 'sec-fetch-site': 'same-origin' }, false],
    [{ host: 'book', 'sec-fetch-site': 'none' }, false],
    [{ host: 'book', 'sec-fetch-site': 'same-site' }, true],
    [{ host: 'book', 'sec-fetch-site': 'cross-site' }, true],
    [{ host: 'book', origin: 'http://book' }, false],
    [{ host: 'BOOK:443', origin: 'https://book' }, false],
    [{ host: 'book', origin: 'http://book:80' }, false],
    [{ host: 'book:443', origin: 'http://book' }, true],
    [{ host: 'book', origin: 'http://book.evil' }, true],
    [{ host: 'book', origin: 'http://evil@book' }, true],
    [{ host: 'book', origin: 'http://book/' }, true],
    [{ host: 'book', origin: 'ftp://book' }, true],
    [{ host: 'book', origin: 'null' }, true],
    [{ host: 'book', origin: '' }, true],
    [{ origin: 'http://book' }, true],
    [{ host: 'book', origin: 'http://book', 'sec-fetch-site': 'cross-site' }, true],
    [{ host: 'book', origin: 'http://evil', 'sec-fetch-site': 'same-origin' }, true],
  ]
  for (const [headers, expected] of rows) {
    it(`finds ${expected ? 'another site' : 'the same site, or none'} in ${JSON.stringify(headers)}`, () =>
      assert.equal(isCrossSite({ headers } as Request), expected))
  }
})
