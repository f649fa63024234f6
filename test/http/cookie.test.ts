import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatCookie, readCookie } from '../../src/http/cookie.ts'

describe('readCookie', () => {
  const rows: [header: string | undefined, value: string | undefined][] = [
    ['a=1', '1'],
    ['b=2; a=1', '1'],
    ['b=2;a=1;c=3', '1'],
    [' a = 1 ', '1'],
    ['a=1=2', '1=2'],
    ['a=', ''],
    ['a=1; a=2', '1'],
    ['A=1', undefined],
    ['aa=1', undefined],
    ['b=a=1', undefined],
    ['a', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  for (const [header, value] of rows) {
    it(`${JSON.stringify(header)}: ${JSON.stringify(value)}`, () =>
      assert.equal(readCookie(header, 'a'), value))
  }
})

describe('formatCookie', () => {
  it('keeps scripts and other sites away', () => {
    const cookie = formatCookie('n', 'v', { path: '/', isSecure: false, maxAgeSeconds: 5 })
    assert.equal(cookie, 'n=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=5')
  })

  it('binds to TLS', () => {
    const cookie = formatCookie('n', '', { path: '/b', isSecure: true, maxAgeSeconds: 0 })
    assert.equal(cookie, 'n=; HttpOnly; SameSite=Strict; Path=/b; Max-Age=0; Secure')
  })
})
