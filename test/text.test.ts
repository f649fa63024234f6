import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkText,
  counted,
  describeOwner,
  eitherOf,
  forTerminal,
  hidePassword,
  kindOf,
  writtenTo,
} from '../src/text.ts'

describe('checkText', () => {
  const rows: [value: unknown, fault: string | undefined][] = [
    ['abc', undefined],
    [' ', undefined],
    ['\u{1f5c4}\u{1f5c4}\u{1f5c4}', undefined],
    ['a\u{1f5c4}b', undefined],
    ['abcd', 'must not be longer than 3 characters'],
    ['\u{1f5c4}\u{1f5c4}\u{1f5c4}a', 'must not be longer than 3 characters'],
    ['abcdefgh', 'must not be longer than 3 characters'],
    ['', 'must not be empty'],
    ['\ud83d', 'must not hold a lone surrogate'],
    ['a\n', 'must not hold control characters'],
    ['\u0085', 'must not hold control characters'],
    [1, 'must be a string, not a number'],
    [null, 'must be a string, not null'],
    [[], 'must be a string, not an array'],
    [{}, 'must be a string, not an object'],
  ]
  for (const [value, fault] of rows) {
    it(`finds ${fault === undefined ? 'nothing wrong' : `that it ${fault}`}: ${JSON.stringify(value)}`, () =>
      assert.equal(checkText(value, 3), fault))
  }
})

describe('hidePassword', () => {
  const rows: [text: string, shown: string][] = [
    ['http://bob:secret@h:1/x', 'http://bob:…@h:1/x'],
    ['HTTPS://:secret@h', 'HTTPS://:…@h'],
    ['http://bob:se:c/r@et@h', 'http://bob:…@h'],
    ['bob:secret@h', 'bob:…@h'],
    ['http:/bob:secret@h', 'http:…@h'],
    ['http://bob@h:1', 'http://bob@h:1'],
    ['http://h:1/@x', 'http://h:…@x'],
    ['unix:/run/x', 'unix:/run/x'],
    ['h:1', 'h:1'],
  ]
  for (const [text, shown] of rows)
    it(`shows ${text} as ${shown}`, () => assert.equal(hidePassword(text), shown))
})

describe('words of messages', () => {
  it('name a kind with its article', () =>
    assert.deepEqual([true, null, []].map(kindOf), ['a boolean', 'null', 'an array']))

  it('name an owner, and a mode in four digits', () => {
    assert.equal(describeOwner({ uid: 0, mode: 0o100644 }), 'owner 0, mode 0644')
    assert.equal(describeOwner({ uid: 7, mode: 0o104755 }), 'owner 7, mode 4755')
  })

  it('list choices', () => {
    assert.deepEqual([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(eitherOf), ['', 'a', 'a or b', 'a, b or c'])
    assert.equal(eitherOf([',', ';', '\t', 'tab']), '",", ";", "\\t" or tab')
  })

  it('use the singular for exactly one', () =>
    assert.deepEqual(
      [0, 1, 2].map((count) => counted(count, 'record')),
      ['0 records', '1 record', '2 records'],
    ))
})

describe('a text for a terminal', () => {
  it('is escaped there alone, also as bytes', () => {
    for (const text of ['a\tb\n', 'é\u202e\n', 'x\u001b[2J\n', 'x\u007f\n', '\u001b[1mx\u001b[22m\n']) {
      const bytes = Buffer.from(text)
      const shown = writtenTo({ isTTY: true }, bytes)
      assert.equal(typeof shown === 'string' ? shown : Buffer.from(shown).toString(), forTerminal(text))
      assert.equal(writtenTo({ isTTY: true }, text), forTerminal(text))
      assert.equal(writtenTo({ isTTY: false }, bytes), bytes)
      assert.equal(writtenTo({}, text), text)
    }
  })

  it('has line ends, tabs and bold as they are, and other hidden characters as text', () => {
    assert.equal(
      forTerminal('\u001b[1mNAME\u001b[22m\ta\r\nb\u001b[2J\u001b]0;x\u0007\r\u202e\u009b1A\n'),
      '\u001b[1mNAME\u001b[22m\ta\r\nb\\u001b[2J\\u001b]0;x\\u0007\\u000d\\u202e\\u009b1A\n',
    )
  })
})
