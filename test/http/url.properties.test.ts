import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { decodeForm, linkHeader, parseForm } from '../../src/http/url.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anySpellings, decodePercent, encodePercent } from '../support/properties/percent-encoding.ts'
import { escapes, expectedPairs } from '../support/properties/reference-form.ts'
import { anyText, joined, shortName, treacherousNames } from '../support/properties/texts.ts'

describe('a form', () => {
  const part = fc.oneof(shortName, fc.constantFrom('', '&', '=', '+', ' ', '%', '%41', ...treacherousNames))
  const pairs = fc.array(fc.tuple(part, part), { maxLength: 4 })

  it('reads back what URLSearchParams wrote', (t) => {
    holdFor(t, pairs, (some) => {
      assert.deepEqual(parseForm(new URLSearchParams(some).toString()), some)
    })
  })

  it('reads back what was written in any valid encoding', (t) => {
    holdFor(t, fc.tuple(pairs, anySpellings), ([some, spellings]) => {
      const text = some.map((pair) => pair.map((each) => encodePercent(each, spellings)).join('=')).join('&')
      assert.deepEqual(parseForm(text), some)
    })
  })

  it('agrees with a parser that reads character by character, for any text', (t) => {
    holdFor(
      t,
      joined([...escapes, '&', '&', '=', '=', '+', 'a', 'sort', '__proto__'], anyText, 12),
      (text) => {
        assert.deepEqual(parseForm(text), expectedPairs(text))
        assert.equal(decodeForm(text), decodePercent(text.split('+').join(' ')))
      },
    )
  })
})

describe('the links of a page', () => {
  const target = '/configurations/?sort=-name&'

  function linksOf(page: number, perPage: number, total: number): Record<string, number> {
    const links = linkHeader(target, { page, perPage }, total)
      .split(', ')
      .map((link) => {
        const [, to, by, rel = ''] =
          /^<\/configurations\/\?sort=-name&page=(\d+)&per_page=(\d+)>; rel="(\w+)"$/.exec(link) ??
          assert.fail(link)
        assert.equal(by, String(perPage))
        return [rel, Number(to)]
      })
    return Object.fromEntries(links)
  }

  it('lead through every record exactly once, forwards and backwards', (t) => {
    const lists = fc.record({ perPage: fc.integer({ min: 1, max: 100 }), total: fc.nat({ max: 1_000 }) })
    holdFor(t, lists, ({ perPage, total }) => {
      const pages = Math.max(1, Math.ceil(total / perPage))
      const { first, last } = linksOf(0, perPage, total)
      assert.deepEqual([first, last], [0, pages - 1])
      // All pages would take long: these are both ends and their neighbours.
      for (const page of new Set([0, 1, pages - 2, pages - 1])) {
        if (page < 0 || page >= pages) continue
        const { prev, next } = linksOf(page, perPage, total)
        assert.deepEqual(
          [prev, next],
          [page > 0 ? page - 1 : undefined, page < pages - 1 ? page + 1 : undefined],
        )
      }
    })
  })

  it('lead back into the list from any page beyond it', (t) => {
    const lists = fc.record({
      page: fc.maxSafeNat(),
      perPage: fc.integer({ min: 1, max: 100 }),
      total: fc.nat(),
    })
    holdFor(t, lists, ({ page, perPage, total }) => {
      const last = Math.max(0, Math.ceil(total / perPage) - 1)
      const links = linksOf(page, perPage, total)
      for (const to of Object.values(links)) assert.ok(to >= 0 && to <= last)
      assert.equal('next' in links, page < last)
      assert.equal(links.prev, page === 0 ? undefined : Math.min(page - 1, last))
    })
  })
})
