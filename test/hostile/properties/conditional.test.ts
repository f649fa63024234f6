import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isExpected, isUnchanged } from '../../../src/http/conditional.ts'
import { linkHeader } from '../../../src/http/pagination.ts'
import { holdFor } from './hold-property.ts'
import { headerText, joined, withoutBlanks } from './texts.ts'

/** RFC 9110 section 8.8.3: anything but a quote, a blank or a control character. */
const opaque = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('a', 'b', 'ab', 'a,b', 'W/', 'AB', '', '*', '\u00e4'),
  },
  { weight: 1, arbitrary: headerText.map((text) => text.replace(/["\s\u0085]/g, '')) },
)
const entry = fc.record({ opaque, isWeak: fc.boolean() })
const gap = fc.constantFrom(', ', ',', ' , ', ',\t', ', , ')

describe('a list of entity tags', () => {
  it('means what its tags mean, weakly for If-None-Match and strongly for If-Match', (t) => {
    holdFor(t, fc.tuple(fc.array(entry, { maxLength: 5 }), gap, opaque), ([entries, blank, current]) => {
      const header = entries.map(({ opaque: text, isWeak }) => `${isWeak ? 'W/' : ''}"${text}"`).join(blank)
      const same = entries.filter(({ opaque: text }) => text === current)
      assert.equal(isUnchanged(header, `"${current}"`), same.length > 0)
      assert.equal(
        isExpected(header, `"${current}"`),
        same.some(({ isWeak }) => !isWeak),
      )
    })
  })

  it('never means a tag that does not stand in it, and nothing strongly that it does not mean weakly', (t) => {
    const pieces = [
      '"',
      '"',
      'W/',
      'a',
      '"a"',
      'W/"a"',
      ',',
      ' ',
      '\t',
      '\u00a0',
      '*',
      '*',
      '\\"',
      "'a'",
      'w/',
    ]
    holdFor(t, joined(pieces, headerText, 10), (header) => {
      const isStar = withoutBlanks(header) === '*'
      if (isUnchanged(header, '"a"')) assert.ok(isStar || header.includes('"a"'))
      if (isExpected(header, '"a"')) assert.ok(isUnchanged(header, '"a"'))
      if (isStar) assert.ok(isExpected(header, '"a"'))
    })
  })

  it('asks for nothing when it is not there, and means everything as a star', (t) => {
    holdFor(t, fc.tuple(opaque, fc.constantFrom('*', ' *', '* ', '\t*', '* \t')), ([text, star]) => {
      assert.equal(isUnchanged(undefined, `"${text}"`), false)
      assert.equal(isExpected(undefined, `"${text}"`), true)
      assert.ok(isUnchanged(star, `"${text}"`) && isExpected(star, `"${text}"`))
    })
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

  it('lead through every record once, forwards and backwards', (t) => {
    const lists = fc.record({ perPage: fc.integer({ min: 1, max: 100 }), total: fc.nat({ max: 1_000 }) })
    holdFor(t, lists, ({ perPage, total }) => {
      const pages = Math.max(1, Math.ceil(total / perPage))
      const { first, last } = linksOf(0, perPage, total)
      assert.deepEqual([first, last], [0, pages - 1])
      // All of them would take long; these are the ends and what is beside them.
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
