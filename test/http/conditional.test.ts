import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isExpected, isUnchanged } from '../../src/http/conditional.ts'

const etag = '"ab,c"'

describe('entity tags in conditions', () => {
  const rows: [header: string, isUnchanged: boolean, isExpected: boolean][] = [
    [etag, true, true],
    ['*', true, true],
    [' * ', true, true],
    [`"x", ${etag}`, true, true],
    [`"x",${etag},"y"`, true, true],
    [`W/${etag}`, true, false],
    [`"x", W/${etag}`, true, false],
    ['"x"', false, false],
    ['W/"x"', false, false],
    ['""', false, false],
    ['', false, false],
    ['ab,c', false, false],
    ['"AB,C"', false, false],
    ['"ab", "c"', false, false],
  ]
  for (const [header, unchanged, expected] of rows) {
    it(`${JSON.stringify(header)}: ${unchanged ? '304' : 'sent'}, ${expected ? 'changed' : '412'}`, () => {
      assert.equal(isUnchanged(header, etag), unchanged)
      assert.equal(isExpected(header, etag), expected)
    })
  }

  it('never match when there is no If-None-Match', () => assert.equal(isUnchanged(undefined, etag), false))
})
