import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ASKED_PAGES_MAX,
  PAGE_QUERY_CHARACTERS_MAX,
  PageMemory,
  type PageReply,
  REMEMBERED_PAGES_BYTES_MAX,
} from '../../src/resources/page-memory.ts'

const TAG = 'a-7'
const NEXT_TAG = 'a-8'
const CHARACTER_BYTES_MAX = 2

function page(body = 'é'): PageReply {
  return { status: 200, headers: { ETag: '"1"' }, body }
}

/** Adds a page as often as it must be put together before it is remembered. */
function addTwice(pages: PageMemory, query: string, body?: string, tag = TAG) {
  pages.add(query, tag, page(body))
  pages.add(query, tag, page(body))
}

describe('the memory of pages', () => {
  it('gives a page that was put together twice, with its length in bytes', () => {
    const pages = new PageMemory()
    assert.equal(pages.find('a', TAG), undefined)
    pages.add('a', TAG, page())
    assert.equal(pages.find('a', TAG), undefined)
    pages.add('a', TAG, page())
    assert.deepEqual(pages.find('a', TAG), { ...page(), bodyBytes: 2 })
    assert.equal(pages.find('b', TAG), undefined)
  })

  it('gives no page of another tag, and forgets those with the first page of a new one', () => {
    const pages = new PageMemory()
    addTwice(pages, 'a')
    assert.equal(pages.find('a', NEXT_TAG), undefined)
    pages.add('b', NEXT_TAG, page())
    assert.equal(pages.find('a', TAG), undefined)
    assert.equal(pages.find('a', NEXT_TAG), undefined)
    pages.add('a', NEXT_TAG, page('new'))
    assert.equal(pages.find('a', NEXT_TAG), undefined, 'it was asked for once with this tag')
    pages.add('a', NEXT_TAG, page('new'))
    assert.equal(pages.find('a', NEXT_TAG)?.body, 'new')
  })

  it('keeps nothing of pages that are each asked for once in many', () => {
    const pages = new PageMemory()
    const queries = Array.from({ length: ASKED_PAGES_MAX + 1 }, (_, i) => `page=${i}`)
    for (const query of [...queries, ...queries, ...queries]) {
      assert.equal(pages.find(query, TAG), undefined)
      pages.add(query, TAG, page())
    }
  })

  it('drops all pages rather than exceed its limit of bytes', () => {
    const pages = new PageMemory()
    const half = 'x'.repeat(REMEMBERED_PAGES_BYTES_MAX / CHARACTER_BYTES_MAX / 2 - 1)
    for (const query of ['a', 'b']) addTwice(pages, query, half)
    assert.ok(pages.find('a', TAG) && pages.find('b', TAG))
    addTwice(pages, 'c', half)
    assert.deepEqual(
      ['a', 'b', 'c'].map((query) => pages.find(query, TAG) !== undefined),
      [false, false, true],
    )
  })

  it('keeps no page above the limit, and none of a long query', () => {
    const pages = new PageMemory()
    const most = 'x'.repeat(REMEMBERED_PAGES_BYTES_MAX / CHARACTER_BYTES_MAX)
    addTwice(pages, '', most)
    assert.ok(pages.find('', TAG))
    addTwice(pages, 'a', most)
    assert.equal(pages.find('a', TAG), undefined)
    const long = 'a'.repeat(PAGE_QUERY_CHARACTERS_MAX)
    addTwice(pages, long)
    assert.ok(pages.find(long, TAG))
    addTwice(pages, `${long}a`)
    assert.equal(pages.find(`${long}a`, TAG), undefined)
  })
})
