import './support/node-version.ts'
import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { describe, it } from 'node:test'
import { adviceForTilde, quoteForShell, wordForShell } from '../src/shell.ts'

describe('quoteForShell', () => {
  const rows = { '': "''", plain: "'plain'", "o'neil": "'o'\\''neil'", $HOME: "'$HOME'" }
  for (const [text, quoted] of Object.entries(rows))
    it(`makes ${JSON.stringify(text)} one word`, () => assert.equal(quoteForShell(text), quoted))
})

describe('wordForShell', () => {
  for (const text of ['plain', '--data=./a/b-c_1', 'a@b,c%d:e+f'])
    it(`leaves ${text} as it is`, () => assert.equal(wordForShell(text), text))

  for (const text of ['', 'two words', '~', '$HOME', '*', '#', 'a\nb', 'ö', '&', '{a,b}']) {
    it(`quotes ${JSON.stringify(text)}`, () => assert.equal(wordForShell(text), quoteForShell(text)))
  }
})

describe('adviceForTilde', () => {
  it('says what a path that no shell has seen can mean', () => {
    const home = homedir()
    assert.equal(
      adviceForTilde('~/book'),
      `write "${home}/book" for your home folder, or "./~/book" for that very name`,
    )
    assert.match(adviceForTilde('~') ?? '', new RegExp(`^write "${home}" for`))
    assert.match(
      adviceForTilde('~eve/book') ?? '',
      /^write the full path for a home folder, or ".\/~eve\/book"/,
    )
    assert.match(adviceForTilde('~/s', 'unix:') ?? '', /^write "unix:\/.* or "unix:.\/~\/s"/)
  })

  it('has nothing to say of others', () => {
    for (const path of ['', './~', '/~', 'a~', '/home/eve']) assert.equal(adviceForTilde(path), undefined)
  })
})
