import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spellForBash, splitTyped } from '../../src/command-line/shell-words.ts'

const BREAKS = ' \t\n"\'><=;|&(:'

describe('splitTyped', () => {
  const lines: Record<string, [words: string[], text: string, quote: string]> = {
    '': [[], '', ''],
    'connbook ': [['connbook'], '', ''],
    'connbook  get\tweb1 ': [['connbook', 'get', 'web1'], '', ''],
    'a "b c" \'d "e\'f g\\ h i\\': [['a', 'b c', 'd "ef', 'g h'], 'i', ''],
    'a "b $x `y` \\"z': [['a'], 'b $x `y` "z', '"'],
    "a 'b\\": [['a'], 'b\\', "'"],
    'a "" ': [['a', ''], '', ''],
    'a --label=x:y': [['a'], '--label=x:y', ''],
  }
  for (const [line, [words, text, quote]] of Object.entries(lines)) {
    it(`splits ${JSON.stringify(line)}`, () => {
      assert.deepEqual(splitTyped(line), { words, last: { text, quote } })
    })
  }
})

describe('spellForBash', () => {
  it('goes on behind the last character at which bash breaks words', () => {
    assert.equal(spellForBash('a:b=c d', { text: 'a:b=c', quote: '' }, BREAKS), 'c\\ d')
    assert.equal(spellForBash('a:b=c', { text: 'a:b=', quote: '' }, ' '), 'a:b=c')
    assert.equal(spellForBash('a:b c', { text: 'a:', quote: '"' }, BREAKS), 'a:b c')
  })

  it('gives nothing that does not go on with what was typed, or that cannot be spelled there', () => {
    assert.equal(spellForBash('web1', { text: 'x', quote: '' }, BREAKS), undefined)
    assert.equal(spellForBash("it's", { text: 'i', quote: "'" }, BREAKS), undefined)
  })
})
