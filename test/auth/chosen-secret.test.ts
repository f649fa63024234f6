import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faultOfChosen } from '../../src/auth/chosen-secret.ts'

describe('a chosen password or secret', () => {
  it('has at least 8 or 16 characters, at most 1,024 bytes, and is not the name of the account', () => {
    for (const [kind, charactersMin] of [
      ['user', 8],
      ['client', 16],
    ] as const) {
      for (const character of ['x', 'é', '😀']) {
        const shortest = character.repeat(charactersMin)
        assert.equal(faultOfChosen(kind, shortest, 'another name'), undefined)
        assert.equal(faultOfChosen(kind, shortest), undefined)
        assert.match(faultOfChosen(kind, character.repeat(charactersMin - 1)) ?? '', /^is shorter than/)
        assert.match(faultOfChosen(kind, shortest, shortest) ?? '', /^is the (name|id) of the/)
        const longest = character.repeat(1_024 / Buffer.byteLength(character))
        assert.equal(faultOfChosen(kind, longest), undefined)
        assert.match(faultOfChosen(kind, `${longest}x`) ?? '', /^is longer than 1024 bytes/)
      }
    }
  })

  it('has nothing that cannot be seen, and is told what and not where', () => {
    const refused: Record<string, RegExp> = {
      'two lines\nof text here': /^has more than one line; give one line$/,
      'two lines of text\n': /^has more than one line/,
      'two lines of text\r': /^has more than one line/,
      'a text with a\ttab': /^has an invisible character, U\+0009; leave it out$/,
      '\ufeffa text with a mark': /^has an invisible character, U\+FEFF/,
      'a text with \u200b space': /^has an invisible character, U\+200B/,
      'a text of \u202ereversed': /^has an invisible character, U\+202E/,
      'two lines\u2028of text here': /^has an invisible character, U\+2028/,
      'text of a terminal\u001b': /^has an invisible character, U\+001B/,
      ' a text with a blank': /^begins or ends with white space, U\+0020; leave it out$/,
      'a text with a blank ': /^begins or ends with white space, U\+0020/,
      'a text with a blank\u00a0': /^begins or ends with white space, U\+00A0/,
      'a text with a joiner\u200d': /^begins or ends with white space, U\+200D/,
    }
    for (const [secret, fault] of Object.entries(refused))
      for (const kind of ['user', 'client'] as const) assert.match(faultOfChosen(kind, secret) ?? '', fault)
    for (const secret of [
      'blanks between words',
      '👩‍💻👩‍💻 and more text',
      'می‌خواهم بروم به خانه',
      '❤️ for all of you ❤️',
    ])
      assert.equal(faultOfChosen('client', secret), undefined)
  })
})
