import './support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { quoteForShell } from '../src/shell.ts'

describe('quoteForShell', () => {
  for (const text of ['', 'plain', "o'neil", "'", "''", '$HOME `id` "x" \\ !', 'a\nb', '*', '-n']) {
    it(`hands ${JSON.stringify(text)} over as it is`, () => {
      assert.equal(execFileSync('sh', ['-c', `printf %s ${quoteForShell(text)}`], { encoding: 'utf8' }), text)
    })
  }
})
