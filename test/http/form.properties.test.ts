import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { decodeForm, parseForm } from '../../src/http/form.ts'
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
