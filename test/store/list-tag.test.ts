import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listTag, parseListTag, storeOfTag } from '../../src/store/list-tag.ts'

describe('the tag of a list', () => {
  const store = '0123456789abcdef'

  it('is read back as the store and the revision', () => {
    assert.equal(listTag(store, 25), '01234567-25')
    assert.deepEqual(parseListTag(listTag(store, 25)), { store: storeOfTag(store), revision: 25 })
  })

  it('is not read from anything else', () => {
    for (const other of [
      undefined,
      25,
      '',
      '25',
      '01234567-',
      '-25',
      '01234567-2x',
      ' 01234567-25',
      '01234567--1',
    ])
      assert.equal(parseListTag(other), undefined, String(other))
  })
})
