import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidScopeError } from '../../src/errors.ts'
import { isScope, narrower, parseScope } from '../../src/http/scope.ts'

describe('parseScope', () => {
  const good = {
    read: 'read',
    'read read': 'read',
    write: 'read write',
    'read write': 'read write',
    'write read': 'read write',
    'write write': 'read write',
  }
  for (const [text, scope] of Object.entries(good)) {
    it(`reads "${text}" as "${scope}"`, () => assert.equal(parseScope(text), scope))
  }

  const bad = [
    '',
    ' ',
    'read ',
    ' read',
    'read  write',
    'read\twrite',
    'read,write',
    'Read',
    'WRITE',
    'admin',
  ]
  for (const text of [...bad, 'read admin', 'admin read', '__proto__', '*', 'readwrite', 'read\u00a0write']) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.throws(() => parseScope(text), InvalidScopeError))
  }
})

describe('narrower', () => {
  it('returns what both scopes allow', () => {
    assert.equal(narrower('read', 'read'), 'read')
    assert.equal(narrower('read', 'read write'), 'read')
    assert.equal(narrower('read write', 'read'), 'read')
    assert.equal(narrower('read write', 'read write'), 'read write')
  })
})

describe('isScope', () => {
  it('accepts only the two spellings that are stored', () => {
    for (const scope of ['read', 'read write']) assert.equal(isScope(scope), true)
    for (const other of ['write', 'write read', '', 'Read', null, undefined, true, ['read'], {}])
      assert.equal(isScope(other), false)
  })
})
