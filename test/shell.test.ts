import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { quoteForShell, wordForShell } from '../src/shell.ts'

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
