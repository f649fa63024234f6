import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  align,
  alignColumns,
  fitTable,
  linesOf,
  StreamedTable,
  widthOf,
  wrap,
} from '../../src/command-line/columns.ts'
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

  const widths: Record<string, number> = {
    // Full and half width.
    ｶﾅ: 2,
    ﾊﾟ: 2,
    カナ: 4,
    ＡＢ: 4,
    '￥': 2,
    '｡｢｣､': 4,
    한글: 4,
    ﾡ: 1,
    // A syllable as its parts.
    '\u1112\u1161\u11ab': 2,
    'か\u3099': 2,
    𠮷: 2,
    '『「': 4,
    '、。': 4,
    '☰': 2,
    // Emoji, alone and with what changes them.
    '🚀': 2,
    '❤': 1,
    '❤\ufe0f': 2,
    '🚀\ufe0f': 2,
    '👍🏽': 2,
    '🇩🇪': 2,
    '1\ufe0f\u20e3': 2,
    // Narrow elsewhere.
    'Ω…—': 3,
    'añe\u0301': 3,
    שָׁלוֹם: 4,
    กำ: 2,
    क्ष: 2,
    'a\u00adb': 3,
  }
  for (const [text, width] of Object.entries(widths))
    it(`count ${width} cells for ${JSON.stringify(text)}`, () => assert.equal(widthOf(text), width))

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

const style = { isTerminal: true, isBold: false, columns: 80 }

const rowsOf = (count: number, cell = 'a') => Array.from({ length: count }, () => [cell, 'b'])

describe('a table that is shown while its rows come', () => {
  it('waits for 1,000 rows, or for the end of fewer, and then has columns as wide as they need', () => {
    const table = new StreamedTable(['NAME', 'B'], style)
    assert.equal(table.add(rowsOf(998)), '')
    assert.equal(table.add(rowsOf(1, 'wide 字')), '')
    const lines = table.add(rowsOf(2)).split('\n')
    assert.deepEqual(lines.slice(0, 2), ['NAME     B', 'a        b'])
    assert.deepEqual(lines.slice(999), ['wide 字  b', 'a        b', 'a        b', ''])
    assert.equal(table.end(), '')

    const short = new StreamedTable(['NAME', 'B'], style)
    assert.equal(short.add(rowsOf(2)), '')
    assert.equal(short.end(), 'NAME  B\na     b\na     b\n')
    assert.equal(short.end(), '')
  })

  it('shows later rows at once; a wider cell moves what follows it', () => {
    const table = new StreamedTable(['N', 'B'], style)
    table.add(rowsOf(1_000))
    assert.equal(
      table.add([
        ['wider', 'b'],
        ['a', 'b', 'more'],
        ['a', ''],
      ]),
      'wider  b\na  b  more\na\n',
    )
    assert.equal(table.end(), '')
  })

  it('has a bold heading where that is wanted, and nothing at all without rows', () => {
    const table = new StreamedTable(['N', 'B'], { ...style, isBold: true })
    table.add(rowsOf(1))
    assert.equal(table.end(), '\u001b[1mN  B\u001b[22m\na  b\n')
    assert.equal(new StreamedTable(['N'], style).end(), '')
  })
})

const headings = ['call', 'does', 'answers']
const rows = [
  ['GET /a', 'reads one of the many things that are kept here', '200, or 404 when there is none'],
  ['PUT /b', 'writes', ''],
]
const at = (columns: number) => fitTable(headings, rows, { ...plainStyle, columns })

describe('a fitted table', () => {
  it('has a line a row where there is room', () => {
    assert.deepEqual(at(100), [
      'call    does                                             answers',
      'GET /a  reads one of the many things that are kept here  200, or 404 when there is none',
      'PUT /b  writes',
    ])
  })

  it('breaks cells into lines where there is less', () => {
    assert.deepEqual(at(60), [
      'call    does                       answers',
      'GET /a  reads one of the many      200, or 404 when there',
      '        things that are kept here  is none',
      'PUT /b  writes',
    ])
  })

  it('lists the cells below the first one where the columns would be too narrow', () => {
    assert.deepEqual(at(40), [
      'GET /a',
      '  does: reads one of the many things',
      '  that are kept here',
      '  answers: 200, or 404 when there is',
      '  none',
      '',
      'PUT /b',
      '  does: writes',
    ])
  })

  it('leaves out an empty heading when it lists', () => {
    const style = { ...plainStyle, columns: 40 }
    const wide = 'a sentence that is far too long for a column beside the other'
    assert.deepEqual(fitTable(['name', ''], [['a_name_that_takes_thirty_columns', wide]], style), [
      'a_name_that_takes_thirty_columns',
      '  a sentence that is far too long for a',
      '  column beside the other',
    ])
  })

  it('has bold headings, or bold first cells when it lists', () => {
    const bold = (columns: number) =>
      fitTable(headings, rows, { isTerminal: true, isBold: true, columns }).filter((line) =>
        line.startsWith('\u001b[1m'),
      )
    assert.deepEqual(bold(100).length, 1)
    assert.deepEqual(bold(40), ['\u001b[1mGET /a\u001b[22m', '\u001b[1mPUT /b\u001b[22m'])
  })
})

describe('linesOf', () => {
  it('ends each text with a newline', () => {
    assert.equal(linesOf(['a', '', 'b']), 'a\n\nb\n')
    assert.equal(linesOf([]), '')
  })
})
