import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NewerFormError } from '../src/errors.ts'
import { checkMembers, isObject, parseJson, printableJson } from '../src/json.ts'

describe('isObject', () => {
  it('is true for objects only, not for null or arrays', () => {
    assert.deepEqual([{}, { a: 1 }, null, [], 'a', 1, undefined].map(isObject), [
      true,
      true,
      ...[false, false, false, false, false],
    ])
  })
})

describe('printableJson', () => {
  it('escapes only control characters, line breaks and characters that reverse or hide text', () => {
    const harmless = 'a "b" \\ ä 漢 🗄'
    assert.equal(printableJson(harmless), JSON.stringify(harmless))
    const harmful = '\u001b\u007f\u0085\u009b\u2028\u202e\u200b\ufeff\u{e0041}'
    const text = printableJson(harmful)
    assert.match(text, /^[\x20-\x7e]+$/)
    assert.equal(JSON.parse(text), harmful)
  })
})

describe('checkMembers', () => {
  it('names an unknown member, so that no data of a newer connbook is lost', () => {
    checkMembers({ a: 1 }, ['a', 'b'], 'the thing')
    assert.throws(
      () => checkMembers({ a: 1, 'x\u001b': 2 }, ['a', 'b'], 'the thing'),
      (error) => {
        assert.ok(error instanceof NewerFormError)
        return error.message.includes('the member "x\\u001b" of the thing is unknown')
      },
    )
  })
})

describe('parseJson', () => {
  it('returns undefined for invalid JSON only', () => {
    assert.deepEqual(['null', '0', '{"a":[1]}'].map(parseJson), [null, 0, { a: [1] }])
    for (const text of ['', '{', 'undefined', '01']) assert.equal(parseJson(text), undefined)
  })
})
