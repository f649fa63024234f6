import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { trimBlanks } from '../../src/http/white-space.ts'

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
