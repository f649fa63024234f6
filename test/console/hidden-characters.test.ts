import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { splitHidden } from '../../src/console/hidden-characters.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { codePoint } from '../support/properties/texts.ts'

const shownAs = (text: string) => splitHidden(text).map((segment) => segment.mark ?? segment.text)

describe('hidden characters', () => {
  it('are shown as marks', () => {
    assert.deepEqual(shownAs('a\u202eb'), ['a', 'U+202E', 'b'])
    for (const hidden of [
      '\u200b',
      '\u2066',
      '\ufeff',
      '\u00ad',
      '\u3164',
      '\u2028',
      '\u00a0',
      '\u2800',
      '\u{e0041}',
      '\u200d',
      '\ufe0f',
    ])
      assert.equal(shownAs(`x${hidden}y`).length, 3, JSON.stringify(hidden))
  })

  it('include spaces at the ends of a text, and several spaces in a row', () => {
    assert.deepEqual(shownAs(' a b '), ['␣', 'a b', '␣'])
    assert.deepEqual(shownAs('a  b'), ['a', '␣', '␣', 'b'])
  })

  it('do not include the usual letters, signs and emoji of any language', () => {
    for (const text of [
      'web1',
      'a b',
      'é',
      'e\u0301',
      '日本',
      'שלום',
      '😀',
      '👩🏽‍🚀',
      '👨‍👩‍👧',
      '❤️',
      '🏳️‍🌈',
      '1️⃣',
      '🇩🇪',
      '',
    ])
      assert.deepEqual(shownAs(text), text === '' ? [] : [text])
  })

  it('are marked without losing a character of the text', (t) => {
    holdFor(t, fc.string({ unit: codePoint }), (text) => {
      assert.equal(
        splitHidden(text)
          .map((segment) => segment.text)
          .join(''),
        text,
      )
    })
  })
})
