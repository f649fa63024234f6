import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseForm } from '../../src/http/form.ts'

describe('parseForm', () => {
  const rows: [text: string, pairs: [string, string][] | undefined][] = [
    ['', []],
    ['&&', []],
    ['a=1', [['a', '1']]],
    [
      'a=1&b=2&a=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    ],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=1', [['', '1']]],
    ['a=b=c', [['a', 'b=c']]],
    ['a+b=c+d', [['a b', 'c d']]],
    ['a=%2B%26%3D%25', [['a', '+&=%']]],
    ['a=%c3%A9', [['a', 'é']]],
    ['a=%2541', [['a', '%41']]],
    ['__proto__=1', [['__proto__', '1']]],
    ['a=%', undefined],
    ['a=%4', undefined],
    ['a=%zz', undefined],
    ['%ff=1', undefined],
    ['a=1&b=%c3', undefined],
    ['a=%ed%a0%80', undefined],
    ['a=%c0%af', undefined],
  ]
  for (const [text, pairs] of rows) {
    it(`${JSON.stringify(text)}: ${JSON.stringify(pairs)}`, () => assert.deepEqual(parseForm(text), pairs))
  }
})
