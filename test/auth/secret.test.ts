import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { digestSecret, generateSecret, isSameText } from '../../src/auth/secret.ts'

describe('generateSecret', () => {
  it('returns 43 random letters and digits of the whole alphabet, never the same', () => {
    const secrets = Array.from({ length: 200 }, generateSecret)
    for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9]{43}$/)
    assert.equal(new Set(secrets).size, secrets.length)
    assert.equal(new Set(secrets.join('')).size, 62)
  })
})

describe('digestSecret', () => {
  it('returns the SHA-256 digest with the name of the algorithm', () => {
    const expected = createHash('sha256').update('secret').digest('base64url')
    assert.equal(digestSecret('secret'), `sha256:${expected}`)
  })
})

describe('isSameText', () => {
  const rows: readonly (readonly [a: string, b: string, expected: boolean])[] = [
    ['', '', true],
    ['abc', 'abc', true],
    ['é', 'é', true],
    ['abc', 'abd', false],
    ['abc', 'ab', false],
    ['abc', '', false],
    ['é', 'e\u0301', false],
    ['é', 'ab', false],
  ]
  for (const [a, b, expected] of rows) {
    it(`says ${expected} for ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () => {
      assert.equal(isSameText(a, b), expected)
      assert.equal(isSameText(b, a), expected)
    })
  }
})
