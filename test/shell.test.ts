import './support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { quoteForShell, wordForShell } from '../src/shell.ts'

describe('quoteForShell', () => {
  for (const text of ['', 'plain', "o'neil", "'", "''", '$HOME `id` "x" \\ !', 'a\nb', '*', '-n']) {
    it(`passes ${JSON.stringify(text)} unchanged to a shell`, () => {
      assert.equal(execFileSync('sh', ['-c', `printf %s ${quoteForShell(text)}`], { encoding: 'utf8' }), text)
    })
  }
})

describe('wordForShell', () => {
  for (const text of ['plain', '--data=./a/b-c_1', 'a@b,c%d:e+f']) {
    it(`leaves ${text} as it is`, () => {
      assert.equal(wordForShell(text), text)
      assert.equal(execFileSync('sh', ['-c', `printf %s ${text}`], { encoding: 'utf8' }), text)
    })
  }

  for (const text of ['', 'two words', '~', '$HOME', '*', '#', 'a\nb', 'ö', '&', '{a,b}']) {
    it(`quotes ${JSON.stringify(text)}`, () => assert.equal(wordForShell(text), quoteForShell(text)))
  }
})
