import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findCookie, formatCookie } from '../../src/http/cookie.ts'

describe('findCookie', () => {
  const rows: [header: string | undefined, tried: string[]][] = [
    ['a=1', ['1']],
    ['b=2; a=1', ['1']],
    ['b=2;a=1;c=3', ['1']],
    [' a = 1 ', ['1']],
    ['a=1=2', ['1=2']],
    ['a=', ['']],
    ['a=1; a=2', ['1', '2']],
    ['a=1; b=3; a=1;a=2;', ['1', '1', '2']],
    ['A=1', []],
    ['aa=1', []],
    ['b=a=1', []],
    ['a', []],
    ['', []],
    [undefined, []],
    ['a=1;'.repeat(9), Array(8).fill('1')],
    ['a=1;'.repeat(2_000), Array(8).fill('1')],
  ]
  for (const [header, tried] of rows) {
    it(`${JSON.stringify(header?.slice(0, 40))}: tries ${tried.join(', ')}`, () => {
      const values: string[] = []
      const refuse = (value: string) => {
        values.push(value)
        return undefined
      }
      assert.equal(findCookie(header, 'a', refuse), undefined)
      assert.deepEqual(values, tried)
    })
  }

  it('returns what is found first, and tries no more', () => {
    const tried: string[] = []
    const find = (value: string) => {
      tried.push(value)
      return value > '1' ? `found ${value}` : undefined
    }
    assert.equal(findCookie('a=1; b=9; a=2; a=3', 'a', find), 'found 2')
    assert.deepEqual(tried, ['1', '2'])
  })
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
