import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseWait } from '../../src/http/prefer.ts'

describe('the seconds of Prefer: wait', () => {
  const cases: [header: string | undefined, seconds: number | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['wait=10', 10],
    ['WAIT="10"', 10],
    ['respond-async, wait = 10;foo', 10],
    ['wait=1, wait=2', 1],
    ['wait', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait=1x, wait=3', 3],
    ['wait=0', 0],
    ['wait=9999999999999', 9_999_999_999_999],
    ['await=10', undefined],
  ]
  for (const [header, seconds] of cases) {
    it(`${JSON.stringify(header)} gives ${seconds}`, () => assert.equal(parseWait(header), seconds))
  }
})
