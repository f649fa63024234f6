import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  AccountExistsError,
  type Accounts,
  addAccount,
  changeScope,
  changeSecret,
  checkAccountName,
  findAccount,
  listOf,
  noAccounts,
  raiseGeneration,
  removeAccount,
  scopeOf,
  UnknownAccountError,
} from '../../src/auth/accounts.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { InvalidInputError } from '../../src/errors.ts'

const one = addAccount(noAccounts, 'user', 'admin', digestSecret('1'))
const two = addAccount(one, 'client', 'admin', digestSecret('2'))

const generationOf = (accounts: Accounts, name = 'admin') => findAccount(accounts, 'user', name)?.generation
const namesOf = (accounts: Accounts) => listOf(accounts, 'user').map(({ name }) => name)

describe('accounts', () => {
  it('are found by kind and name, in the spelling given', () => {
    assert.equal(findAccount(two, 'user', 'admin')?.secret, digestSecret('1'))
    assert.equal(findAccount(two, 'client', 'admin')?.secret, digestSecret('2'))
    for (const name of ['Admin', 'admin ', '', '__proto__', 'constructor']) {
      assert.equal(findAccount(two, 'user', name), undefined)
    }
  })

  it('are immutable: a change returns new ones', () => {
    const before = JSON.stringify(two)
    changeSecret(two, 'user', 'admin', digestSecret('3'))
    removeAccount(two, 'user', 'admin')
    assert.equal(JSON.stringify(two), before)
    assert.deepEqual(noAccounts, { lastGeneration: 0, users: [], clients: [] })
  })

  it('cannot be added twice', () => {
    assert.throws(() => addAccount(two, 'user', 'admin', ''), AccountExistsError)
    assert.deepEqual(namesOf(addAccount(two, 'user', 'other', '')), ['admin', 'other'])
  })

  it('must exist to be changed or removed', () => {
    assert.throws(() => changeSecret(one, 'client', 'admin', ''), UnknownAccountError)
    assert.throws(() => removeAccount(one, 'client', 'admin'), UnknownAccountError)
  })

  it('get a new generation with a new secret, while others keep theirs', () => {
    const changed = changeSecret(two, 'user', 'admin', digestSecret('3'))
    assert.equal(findAccount(changed, 'user', 'admin')?.secret, digestSecret('3'))
    assert.equal(generationOf(changed), 3)
    assert.deepEqual(changed.clients, two.clients)
  })

  it('get a new generation with the same secret, scope and place when all credentials end', () => {
    const accounts = addAccount(
      addAccount(two, 'user', 'reader', 'sha256:', 'read'),
      'user',
      'last',
      'sha256:',
    )
    const raised = raiseGeneration(accounts, 'user', 'reader')
    assert.deepEqual(raised, {
      ...accounts,
      lastGeneration: 5,
      users: accounts.users.map((each) => (each.name === 'reader' ? { ...each, generation: 5 } : each)),
    })
    assert.throws(() => raiseGeneration(one, 'client', 'admin'), UnknownAccountError)
  })

  it('never get the same generation twice, not even after removal and a new addition', () => {
    const again = addAccount(removeAccount(one, 'user', 'admin'), 'user', 'admin', digestSecret('1'))
    assert.ok((generationOf(again) ?? 0) > (generationOf(one) ?? 0))
    assert.deepEqual(namesOf(removeAccount(two, 'user', 'admin')), [])
  })
})

describe('the scope of an account', () => {
  const eve = (accounts: Accounts) => findAccount(accounts, 'user', 'eve') ?? assert.fail('no eve')
  const reading = addAccount(two, 'user', 'eve', digestSecret('3'), 'read')

  it('is read and write, stored as no scope, unless it was added as read-only', () => {
    assert.equal(scopeOf(eve(reading)), 'read')
    const writing = addAccount(two, 'user', 'eve', digestSecret('3'))
    assert.equal(scopeOf(eve(writing)), 'read write')
    assert.deepEqual(eve(writing), { name: 'eve', secret: digestSecret('3'), generation: 3 })
    assert.deepEqual(writing, addAccount(two, 'user', 'eve', digestSecret('3'), 'read write'))
  })

  it('outlives a new secret, but not the removal of the account', () => {
    const changed = changeSecret(reading, 'user', 'eve', digestSecret('4'))
    assert.deepEqual(eve(changed), { name: 'eve', secret: digestSecret('4'), generation: 4, scope: 'read' })
    const anew = addAccount(removeAccount(changed, 'user', 'eve'), 'user', 'eve', digestSecret('4'))
    assert.equal(scopeOf(eve(anew)), 'read write')
  })

  it('changes for that account alone, which keeps its generation and its place', () => {
    const accounts = addAccount(reading, 'user', 'last', digestSecret('4'), 'read')
    const writing = changeScope(accounts, 'user', 'eve', 'read write')
    assert.deepEqual(writing, {
      ...accounts,
      users: accounts.users.map((each) =>
        each.name === 'eve' ? { name: 'eve', secret: digestSecret('3'), generation: 3 } : each,
      ),
    })
    assert.deepEqual(changeScope(writing, 'user', 'eve', 'read'), accounts)
    assert.throws(() => changeScope(accounts, 'client', 'eve', 'read'), UnknownAccountError)
  })
})

describe('checkAccountName', () => {
  const good = ['a', 'x'.repeat(255), '🔑'.repeat(255), 'Zoë Müller', 'a/b', '__proto__', '"', ' ']
  const bad = ['', 'x'.repeat(256), 'a\nb', 'a\u0000', '\u007f', '\u0085', '\ud800']
  for (const kind of ['user', 'client'] as const) {
    for (const name of good) it(`takes ${kind} ${JSON.stringify(name)}`, () => checkAccountName(kind, name))
    for (const name of bad) {
      it(`refuses ${kind} ${JSON.stringify(name)}`, () => {
        assert.throws(() => checkAccountName(kind, name), InvalidInputError)
      })
    }
  }

  it('refuses ":" for a client only, because HTTP Basic splits there', () => {
    assert.throws(() => checkAccountName('client', 'a:b'), InvalidInputError)
    checkAccountName('user', 'a:b')
  })
})
