import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changesIn, isSame, patched } from '../../src/console/changes.ts'

const before = {
  id: 7,
  name: 'db',
  hostname: 'db.example.net',
  port: 5432,
  username: 'admin',
  labels: { a: '1', b: '2' },
}
const { id: _, ...same } = before

describe('what the console sends of a changed record', () => {
  it('is nothing if nothing has changed', () => {
    assert.deepEqual(changesIn(same, before), {})
    assert.deepEqual(changesIn({ ...same, labels: { b: '2', a: '1' } }, before), {})
  })

  it('is each field that differs, also a port that is not a number', () => {
    assert.deepEqual(changesIn({ ...same, port: 'x', username: 'root' }, before), {
      port: 'x',
      username: 'root',
    })
  })

  it('is each label that was added, changed or removed', () => {
    assert.deepEqual(changesIn({ ...same, labels: { a: '', constructor: 'x' } }, before), {
      labels: { a: '', constructor: 'x', b: null },
    })
  })

  it('works for a record without labels', () => {
    const { labels: _, ...bare } = before
    assert.deepEqual(changesIn({ ...same, labels: {} }, bare), {})
    assert.deepEqual(changesIn({ ...same, labels: { toString: '1' } }, bare), { labels: { toString: '1' } })
  })
})

describe('what a change of many makes of a record', () => {
  it('is its fields, and the labels that it sets or removes', () => {
    const after = patched(before, { port: 1, labels: { a: null, c: '' } })
    assert.deepEqual(after, { ...before, port: 1, labels: { b: '2', c: '' } })
    assert.equal(isSame(after, before), false)
  })

  it('is the same record if it says so already', () => {
    const { labels: _, ...bare } = before
    assert.equal(isSame(patched(before, { port: 5432, labels: { a: '1', x: null } }), before), true)
    assert.equal(isSame(patched(bare, { labels: { x: null } }), bare), true)
  })
})
