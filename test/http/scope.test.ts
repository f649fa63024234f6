import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidScopeError } from '../../src/errors.ts'
import { allows, isScope, narrower, parseScope, type Scope, scopeWords } from '../../src/http/scope.ts'

describe('parseScope', () => {
  const good = {
    read: 'read',
    'read read': 'read',
    write: 'read write',
    'read write': 'read write',
    'write read': 'read write',
    'write write': 'read write',
    admin: 'read write admin',
    'admin read': 'read write admin',
    'read write admin': 'read write admin',
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
    'ADMIN',
    'admin,read',
  ]
  for (const text of [...bad, '__proto__', '*', 'readwrite', 'read\u00a0write']) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.throws(() => parseScope(text), InvalidScopeError))
  }
})

describe('narrower', () => {
  it('returns what both scopes allow', () => {
    assert.equal(narrower('read', 'read'), 'read')
    assert.equal(narrower('read', 'read write'), 'read')
    assert.equal(narrower('read write', 'read'), 'read')
    assert.equal(narrower('read write', 'read write'), 'read write')
    assert.equal(narrower('read write admin', 'read write'), 'read write')
    assert.equal(narrower('read', 'read write admin'), 'read')
  })
})

describe('allows', () => {
  it('is true for the words of the scope', () => {
    const allowed = (scope: Scope) => scopeWords.filter((word) => allows(scope, word))
    assert.deepEqual(allowed('read'), ['read'])
    assert.deepEqual(allowed('read write'), ['read', 'write'])
    assert.deepEqual(allowed('read write admin'), ['read', 'write', 'admin'])
  })
})

describe('isScope', () => {
  it('accepts only the spellings that are stored', () => {
    for (const scope of ['read', 'read write', 'read write admin']) assert.equal(isScope(scope), true)
    for (const other of [
      'write',
      'admin',
      'read admin',
      'write read',
      '',
      'Read',
      null,
      undefined,
      true,
      ['read'],
      {},
    ])
      assert.equal(isScope(other), false)
  })
})
