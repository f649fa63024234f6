import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  conditionIn,
  findCookie,
  formatCookie,
  isCrossSite,
  isExpected,
  isUnchanged,
  parseWait,
  qualityOf,
  tagsIn,
  trimBlanks,
} from '../../src/http/header-fields.ts'
import type { Request } from '../../src/http/message.ts'
import { Problem } from '../../src/http/problem.ts'

describe('trimBlanks', () => {
  const rows: Record<string, string> = {
    '': '',
    ' ': '',
    '\t \t': '',
    a: 'a',
    ' a': 'a',
    'a\t': 'a',
    ' \ta b\t ': 'a b',
    'a \t b': 'a \t b',
    '\u00a0a\u00a0': '\u00a0a\u00a0',
    ' \na\r ': '\na\r',
  }
  for (const [text, trimmed] of Object.entries(rows)) {
    it(`turns ${JSON.stringify(text)} into ${JSON.stringify(trimmed)}`, () =>
      assert.equal(trimBlanks(text), trimmed))
  }

  it('leaves many blanks within a text', () => {
    const text = `a${' '.repeat(60_000)}b `
    assert.equal(trimBlanks(text), text.slice(0, -1))
  })
})

describe('qualityOf', () => {
  const rows: [header: string | undefined, quality: number | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['*', undefined],
    ['br', undefined],
    ['gzipx, xgzip, x-gzip, gzip/1', undefined],
    ['"gzip"', undefined],
    ['gzip', 1],
    ['GZip', 1],
    [' br ,\tgzip\t', 1],
    [',,gzip,,', 1],
    ['gzip;q=1', 1],
    ['gzip;q=1.000', 1],
    ['gzip ; Q=0.5', 0.5],
    ['gzip;level=1;q=0.125', 0.125],
    ['gzip;level=1', 1],
    ['gzip;q=0', 0],
    ['gzip;q=0.000', 0],
    ['gzip;q=0, gzip;q=1', 0],
    ['gzip;q=', 0],
    ['gzip;q=-1', 0],
    ['gzip;q=2', 0],
    ['gzip;q=1.1', 0],
    ['gzip;q=0.1234', 0],
    ['gzip;q=.5', 0],
    ['gzip;q=1e0', 0],
    ['gzip;q="1"', 0],
    ['gzip;q=x', 0],
    ['gzip;quality=0', 1],
  ]
  for (const [header, quality] of rows) {
    it(`of ${header === undefined ? 'no header' : JSON.stringify(header)}: ${quality}`, () => {
      assert.equal(qualityOf(header, 'gzip'), quality)
    })
  }
})

describe('the seconds of Prefer: wait', () => {
  const cases: [header: string | undefined, seconds: number | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['wait=10', 10],
    ['WAIT="10"', 10],
    ['respond-async, wait = 10;foo', 10],
    ['wait=1, wait=2', 1],
    ['wait', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait=1x, wait=3', 3],
    ['wait=0', 0],
    ['wait=9999999999999', 9_999_999_999_999],
    ['await=10', undefined],
  ]
  for (const [header, seconds] of cases) {
    it(`${JSON.stringify(header)} gives ${seconds}`, () => assert.equal(parseWait(header), seconds))
  }
})

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
    // A proxy has sent another Host.
    [{ host: '127.0.0.1:8080', origin: 'https://book', 'sec-fetch-site': 'same-origin' }, false],
    [{ host: '127.0.0.1:8080', origin: 'https://book', 'sec-fetch-site': 'none' }, true],
    [{ host: '127.0.0.1:8080', origin: 'https://book', 'sec-fetch-site': 'same-site' }, true],
    [{ host: 'book', origin: 'https://book', 'sec-fetch-site': 'same-origin, cross-site' }, true],
  ]
  for (const [headers, expected] of rows) {
    it(`finds ${expected ? 'another site' : 'the same site, or none'} in ${JSON.stringify(headers)}`, () =>
      assert.equal(isCrossSite(headers), expected))
  }
})

describe('findCookie', () => {
  const rows: [header: string | undefined, tried: string[]][] = [
    ['a=1', ['1']],
    ['b=2; a=1', ['1']],
    ['b=2;a=1;c=3', ['1']],
    [' a = 1 ', ['1']],
    ['a=1=2', ['1=2']],
    ['a=', ['']],
    ['a=1; a=2', ['1', '2']],
    ['a=1; b=3; a=1;a=2;', ['1', '1', '2']],
    ['A=1', []],
    ['aa=1', []],
    ['b=a=1', []],
    ['a', []],
    ['', []],
    [undefined, []],
    ['a=1;'.repeat(9), Array(8).fill('1')],
    ['a=1;'.repeat(2_000), Array(8).fill('1')],
  ]
  for (const [header, tried] of rows) {
    it(`${JSON.stringify(header?.slice(0, 40))}: tries ${tried.join(', ')}`, () => {
      const values: string[] = []
      const refuse = (value: string) => {
        values.push(value)
        return undefined
      }
      assert.equal(findCookie(header, ['a'], refuse), undefined)
      assert.deepEqual(values, tried)
    })
  }

  it('tries the values of the names in their order, eight in all', () => {
    const values: string[] = []
    const refuse = (value: string) => {
      values.push(value)
      return undefined
    }
    findCookie(`${'b=2; '.repeat(5)}${'a=1; '.repeat(5)}`, ['a', 'b'], refuse)
    assert.deepEqual(values, ['1', '1', '1', '1', '1', '2', '2', '2'])
  })

  it('returns the first match, and tries no further', () => {
    const tried: string[] = []
    const find = (value: string) => {
      tried.push(value)
      return value > '1' ? `found ${value}` : undefined
    }
    assert.equal(findCookie('a=1; b=9; a=2; a=3', ['a'], find), 'found 2')
    assert.deepEqual(tried, ['1', '2'])
  })
})

describe('formatCookie', () => {
  it('sets HttpOnly and SameSite, against scripts and other sites', () => {
    const cookie = formatCookie('n', 'v', { path: '/', isSecure: false, maxAgeSeconds: 5 })
    assert.equal(cookie, 'n=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=5')
  })

  it('sets Secure over TLS', () => {
    const cookie = formatCookie('n', '', { path: '/b', isSecure: true, maxAgeSeconds: 0 })
    assert.equal(cookie, 'n=; HttpOnly; SameSite=Strict; Path=/b; Max-Age=0; Secure')
  })
})

const etag = '"ab,c"'

describe('entity tags in conditions', () => {
  const rows: [header: string, isUnchanged: boolean, isExpected: boolean][] = [
    [etag, true, true],
    ['*', true, true],
    [' * ', true, true],
    [`"x", ${etag}`, true, true],
    [`"x",${etag},"y"`, true, true],
    [`W/${etag}`, true, false],
    [`"x", W/${etag}`, true, false],
    ['"x"', false, false],
    ['W/"x"', false, false],
    ['""', false, false],
    ['"AB,C"', false, false],
    ['"ab", "c"', false, false],
  ]
  for (const [header, unchanged, expected] of rows) {
    it(`${JSON.stringify(header)}: ${unchanged ? '304' : 'sent'}, ${expected ? 'changed' : '412'}`, () => {
      assert.equal(isUnchanged(header, etag), unchanged)
      assert.equal(isExpected(header, etag), expected)
    })
  }

  const malformed = [
    ...['', ' ', ',', ', ,', 'ab,c', '"ab,c', 'ab,c"', `x${etag}`, `${etag}x`, `xx${etag}yy`, `x, ${etag}`],
    ...[`${etag} "x"`, `${etag};q=1`, `w/${etag}`, `W/ ${etag}`, 'W/', `'ab,c'`, '"a b"', '"a\tb"', '"\x7f"'],
    ...[`${etag}, *`, `*, ${etag}`, '*,', '**', '* *', `\xa0${etag}`, '\xa0*', `"\\"ab"`, '"'.repeat(15_001)],
  ]
  for (const header of malformed) {
    it(`${JSON.stringify(header.slice(0, 20))}: ignored by a read, refused by a change`, () => {
      assert.equal(isUnchanged(header, etag), false)
      assert.equal(isExpected(header, etag), true)
      assert.deepEqual(tagsIn(header), [])
      for (const name of ['If-Match', 'If-None-Match']) {
        const isRefusal = (error: unknown) =>
          error instanceof Problem &&
          error.code === 'malformed_condition' &&
          error.message.includes(`${name}: "`)
        assert.throws(() => conditionIn({ [name.toLowerCase()]: header }), isRefusal)
        assert.throws(() => conditionIn({ 'if-match': '*', [name.toLowerCase()]: header }), isRefusal)
      }
    })
  }

  it('may stand in a list with empty places, as joined lines have them', () => {
    for (const list of [`, ${etag}`, `${etag},`, ` ,\t"x" ,, ${etag} , `, `"\xff",${etag}`]) {
      assert.equal(isUnchanged(list, etag), true, list)
      assert.equal(conditionIn({ 'if-match': list })?.(etag), true, list)
    }
  })

  it('of a change must all hold', () => {
    const holds = (headers: Record<string, string>) => conditionIn(headers)?.(etag)
    assert.equal(holds({}), undefined)
    assert.equal(holds({ 'if-match': etag }), true)
    assert.equal(holds({ 'if-match': `W/${etag}` }), false)
    assert.equal(holds({ 'if-none-match': `W/${etag}` }), false)
    assert.equal(holds({ 'if-none-match': '"x"' }), true)
    assert.equal(holds({ 'if-match': '*', 'if-none-match': '*' }), false)
  })

  it('never match when there is no If-None-Match', () => assert.equal(isUnchanged(undefined, etag), false))
})
