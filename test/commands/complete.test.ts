import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spellForBash, splitTyped } from '../../src/commands/complete.ts'

const BREAKS = ' \t\n"\'@><=;|&(:'

describe('splitTyped', () => {
  const lines: Record<string, [words: string[], text: string, quote: string, keptLength: number]> = {
    '': [[], '', '', 0],
    'connbook ': [['connbook'], '', '', 0],
    'connbook  get\tweb1 ': [['connbook', 'get', 'web1'], '', '', 0],
    'a "b c" \'d "e\'f g\\ h i\\': [['a', 'b c', 'd "ef', 'g h'], 'i', '', 0],
    'a "b $x `y` \\"z': [['a'], 'b $x `y` "z', '"', 0],
    "a 'b\\": [['a'], 'b\\', "'", 0],
    'a "b\\': [['a'], 'b', '"', 0],
    'a "" ': [['a', ''], '', '', 0],
    'a --label=x:y': [['a'], '--label=x:y', '', 10],
    'a b:c d': [['a', 'b:c'], 'd', '', 0],
    'a ops@web': [['a'], 'ops@web', '', 3],
    'a b\\:c "d:e"f': [['a', 'b:c'], 'd:ef', '', 0],
    'a b:"c:d"e': [['a'], 'b:c:de', '', 2],
    'a b:c"d:e': [['a'], 'b:cd:e', '"', 3],
    'a >b c 2> d < e f': [['a', 'c'], 'f', '', 0],
    'a "x > y" b\\>c 2 ': [['a', 'x > y', 'b>c', '2'], '', '', 0],
    'a &>>b 2>&1 c>|d e': [['a', 'c'], 'e', '', 0],
  }
  for (const [line, [words, text, quote, keptLength]] of Object.entries(lines)) {
    it(`splits ${JSON.stringify(line)}`, () => {
      const last = { text, quote, keptLength }
      assert.deepEqual(splitTyped(line, BREAKS), { words, last, isRedirection: false })
    })
  }

  it('knows the file of a redirection', () => {
    for (const [line, text] of [
      ['a b >', ''],
      ['a b 2>> x/y', 'x/y'],
      ['a b < "x y', 'x y'],
      ['a &>x', 'x'],
    ] as const) {
      const { last, isRedirection } = splitTyped(line, BREAKS)
      assert.deepEqual([last.text, isRedirection], [text, true], line)
    }
  })
})

describe('spellForBash', () => {
  const spelled: readonly (readonly [line: string, word: string, spelled: string])[] = [
    ['a:b=c', 'a:b=c d', 'c\\ d'],
    ['"a:', 'a:b c', 'a:b c'],
    ['ops@w', 'ops@web', '@web'],
    ['ta"b x', 'tab x$y', 'b x\\$y'],
    ['"a', 'a!b', 'a"\'!\'"b'],
    ['"a', 'a!', 'a"\'!\'""'],
    ['"a', 'a"', 'a\\""'],
    ["'a", "a'", "a'\\'''"],
    ['"a"\'!\'"', 'a!b', 'b'],
    ["'i", "it's", "it'\\''s"],
    ["'it'\\''", "it's", 's'],
  ]
  for (const [line, word, expected] of spelled) {
    it(`goes on behind ${line} with ${expected}`, () => {
      assert.equal(spellForBash(word, splitTyped(line, BREAKS).last), expected)
    })
  }
})
