import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { escapeSpecifiers, quoteCommandLine, quoteWord } from '../../src/commands/systemd-text.ts'

describe('text in a unit', () => {
  it('has no specifier that systemd would replace', () => {
    assert.equal(escapeSpecifiers('100%n of %'), '100%%n of %%')
  })

  it('is quoted when it has special characters, with its own quotes escaped', () => {
    const words: Record<string, string> = {
      '/srv/a-b_c.d': '/srv/a-b_c.d',
      '50%': '50%%',
      'a b': '"a b"',
      '': '""',
      'a"b\\c': '"a\\"b\\\\c"',
      "it's": '"it\'s"',
      'a;b': '"a;b"',
      é: '"é"',
    }
    for (const [word, quoted] of Object.entries(words)) assert.equal(quoteWord(word), quoted)
  })

  it('has its dollars escaped in the arguments of a command line, but not in the program', () => {
    assert.equal(quoteCommandLine(['/a$b', '--data=$HOME', 'a b$']), '/a$b --data=$$HOME "a b$$"')
  })
})
