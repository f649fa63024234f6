import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { conditionIn, isExpected, isUnchanged } from '../../src/http/header-fields.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { headerText, joined, withoutBlanks } from '../support/properties/texts.ts'

/** RFC 9110 section 8.8.3: anything in Latin-1 but a quote, a blank or a control character. */
const opaque = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('a', 'b', 'ab', 'a,b', 'W/', 'AB', '', '*', '\u00e4'),
  },
  { weight: 1, arbitrary: headerText.map((text) => text.replace(/[^\x21\x23-\x7e\x80-\xff]/g, '')) },
)
const entry = fc.record({ opaque, isWeak: fc.boolean() })
const gap = fc.constantFrom(', ', ',', ' , ', ',\t', ', , ')

/** Character by character, as the grammar of RFC 9110 section 13.1.1 has it. */
function isListOfTags(header: string): boolean {
  let rest = header
  let tags = 0
  let mayBegin = true
  while (rest !== '') {
    if (' \t'.includes(rest.charAt(0))) rest = rest.slice(1)
    else if (rest.startsWith(',')) {
      mayBegin = true
      rest = rest.slice(1)
    } else {
      const begin = rest.startsWith('W/"') ? 3 : rest.startsWith('"') ? 1 : 0
      const end = rest.indexOf('"', begin)
      if (begin === 0 || end === -1 || !mayBegin) return false
      const codes = Array.from(rest.slice(begin, end), (character) => character.charCodeAt(0))
      if (codes.some((code) => code <= 0x20 || code === 0x7f || code > 0xff)) return false
      tags += 1
      mayBegin = false
      rest = rest.slice(end + 1)
    }
  }
  return tags > 0
}

describe('a list of entity tags', () => {
  it('matches if one of its tags matches, weakly for If-None-Match and strongly for If-Match', (t) => {
    holdFor(
      t,
      fc.tuple(fc.array(entry, { minLength: 1, maxLength: 5 }), gap, opaque),
      ([entries, blank, current]) => {
        const header = entries.map(({ opaque: text, isWeak }) => `${isWeak ? 'W/' : ''}"${text}"`).join(blank)
        const same = entries.filter(({ opaque: text }) => text === current)
        assert.equal(isUnchanged(header, `"${current}"`), same.length > 0)
        assert.equal(
          isExpected(header, `"${current}"`),
          same.some(({ isWeak }) => !isWeak),
        )
      },
    )
  })

  it('never matches a tag that it does not contain; a strong match is also a weak one', (t) => {
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
      if (isStar) assert.ok(isExpected(header, '"a"'))
      if (!isStar && !isListOfTags(header))
        return assert.throws(() => conditionIn({ 'if-match': header }), { code: 'malformed_condition' })
      if (conditionIn({ 'if-match': header })?.('"a"')) assert.ok(isUnchanged(header, '"a"'))
    })
  })

  it('sets no condition when it is absent, and matches everything as *', (t) => {
    holdFor(t, fc.tuple(opaque, fc.constantFrom('*', ' *', '* ', '\t*', '* \t')), ([text, star]) => {
      assert.equal(isUnchanged(undefined, `"${text}"`), false)
      assert.equal(isExpected(undefined, `"${text}"`), true)
      assert.ok(isUnchanged(star, `"${text}"`) && isExpected(star, `"${text}"`))
    })
  })
})
