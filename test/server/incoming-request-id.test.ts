import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRequestIds } from '../../src/server/incoming-request.ts'

describe('createRequestIds', () => {
  it("keeps the caller's own id if that is one harmless word of at most 128 characters", () => {
    const nameRequest = createRequestIds()
    for (const name of ['a', 'a.b:c/d+e=f@g_h-i', 'x'.repeat(128)]) assert.equal(nameRequest(name), name)
  })

  it('returns a new id each time otherwise', () => {
    const nameRequest = createRequestIds()
    const bad = [undefined, '', 'a b', 'a\n', '"a"', 'ä', 'x'.repeat(129), ['a', 'b'], 'a\r\nX: y']
    const names = bad.map(nameRequest)
    for (const name of names) assert.match(name, /^[\w-]{8}-\d+$/)
    assert.equal(new Set(names).size, bad.length)
  })

  it('returns ids that no other process has', () => {
    assert.notEqual(createRequestIds()(undefined), createRequestIds()(undefined))
  })
})
