import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { align, alignColumns, wrap } from '../../src/command-line/columns.ts'
import { plainStyle } from '../support/plain-style.ts'

describe('columns', () => {
  it('are as wide as their widest cell, with no trailing space', () => {
    const rows = [
      ['admin', 'read and write'],
      ['a-much-longer-name', ''],
    ]
    assert.deepEqual(alignColumns(['USER', 'MAY'], rows, plainStyle), [
      'USER                MAY',
      'admin               read and write',
      'a-much-longer-name',
    ])
  })

  it('account for characters that are two terminal cells wide, or none', () => {
    assert.deepEqual(
      align([
        ['東京', 'x'],
        ['e\u0301té', 'x'],
        ['abcd', 'x'],
      ]),
      ['東京  x', 'e\u0301té   x', 'abcd  x'],
    )
  })

  it('wrap between words, and never split a word that is too long', () => {
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three'])
    assert.deepEqual(wrap('one two', 6), ['one', 'two'])
    assert.deepEqual(wrap('a incomprehensible b', 5), ['a', 'incomprehensible', 'b'])
    assert.deepEqual(wrap('', 5), [''])
  })

  it('have a bold heading when the style says so, and nothing else bold', () => {
    const style = { isTerminal: true, isBold: true, columns: 80 }
    assert.deepEqual(alignColumns(['A', 'B'], [['a', 'b']], style), ['\u001b[1mA  B\u001b[22m', 'a  b'])
  })

  it('may be fewer in a row than in others', () => {
    assert.deepEqual(align([['a'], ['bb', 'c'], []]), ['a', 'bb  c', ''])
  })
})
