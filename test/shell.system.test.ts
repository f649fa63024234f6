import './support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { quoteForShell, wordForShell } from '../src/shell.ts'

/** What a shell makes of a word. */
function readByShell(word: string): string {
  return execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })
}

describe('quoteForShell', () => {
  for (const text of ['', 'plain', "o'neil", "'", "''", '$HOME `id` "x" \\ !', 'a\nb', '*', '-n']) {
    it(`passes ${JSON.stringify(text)} unchanged to a shell`, () => {
      assert.equal(readByShell(quoteForShell(text)), text)
    })
  }
})

describe('wordForShell', () => {
  for (const text of ['plain', '--data=./a/b-c_1', 'a@b,c%d:e+f']) {
    it(`leaves ${text} to a shell without quotes`, () => {
      assert.equal(readByShell(wordForShell(text)), text)
    })
  }
})
