import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { align, alignColumns, wrap } from '../../src/command-line/columns.ts'
import { lookOf } from '../../src/command-line/look.ts'
import { plainLook } from '../support/plain-look.ts'

describe('columns', () => {
  it('are as wide as their widest cell, with no space at the end of a line', () => {
    const rows = [
      ['admin', 'read and write'],
      ['a-much-longer-name', ''],
    ]
    assert.deepEqual(alignColumns(['USER', 'MAY'], rows, plainLook), [
      'USER                MAY',
      'admin               read and write',
      'a-much-longer-name',
    ])
  })

  it('reckon with characters that take two cells of a terminal, or none', () => {
    assert.deepEqual(
      align([
        ['東京', 'x'],
        ['e\u0301té', 'x'],
        ['abcd', 'x'],
      ]),
      ['東京  x', 'e\u0301té   x', 'abcd  x'],
    )
  })

  it('wrap between words, and leave a word that is too long whole', () => {
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three'])
    assert.deepEqual(wrap('one two', 6), ['one', 'two'])
    assert.deepEqual(wrap('a incomprehensible b', 5), ['a', 'incomprehensible', 'b'])
    assert.deepEqual(wrap('', 5), [''])
  })
})

describe('lookOf', () => {
  const looks: readonly (readonly [isTTY: boolean, environment: NodeJS.ProcessEnv, isBold: boolean])[] = [
    [true, {}, true],
    [true, { TERM: 'xterm', NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
    [false, { FORCE_COLOR: '1' }, false],
  ]
  for (const [isTTY, environment, isBold] of looks) {
    it(`${isBold ? 'has' : 'has no'} bold headings ${isTTY ? 'on a terminal' : 'in a pipe'} with ${JSON.stringify(environment)}`, () => {
      assert.deepEqual(lookOf({ isTTY }, environment), { isTerminal: isTTY, isBold })
    })
  }
})
