import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ACCOUNTS_MAX, AccountAdministration, tagOf } from '../../src/auth/account-administration.ts'
import { changeAccount } from '../../src/auth/account-changes.ts'
import {
  ACCOUNTS_BYTES_MAX,
  type Account,
  type Accounts,
  addAccount,
  changeScope,
  changeSecret,
  findAccount,
  listOf,
  noAccounts,
  raiseGeneration,
} from '../../src/auth/accounts.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { StorageFullError, TooManyAccountsError } from '../../src/errors.ts'
import { Problem } from '../../src/http/problem.ts'
import { ADMIN_SCOPE, WRITE_SCOPE } from '../../src/http/scope.ts'
import { requestOf } from '../support/message.ts'

/** An administration of accounts in memory. */
function administer(first: Accounts) {
  let stored = first
  let failure: Error | undefined
  const lines: string[] = []
  const dropped: number[] = []
  const document = {
    read: async () => stored,
    async edit(change: (found: Accounts) => Accounts | Promise<Accounts>, afterwards?: () => Promise<void>) {
      const before = stored
      const after = await change(before)
      if (failure !== undefined) throw failure
      stored = after
      await afterwards?.()
      return { before, after }
    },
    follow: () => assert.fail('nobody follows them'),
  }
  const administration = new AccountAdministration({
    accounts: {
      list: (kind) => listOf(stored, kind),
      find: (kind, name) => findAccount(stored, kind, name),
      read: document.read,
      change: (_, kind, name, change) => changeAccount(document, kind, name, change, undefined),
    },
    revocations: { dropGeneration: (generation) => dropped.push(generation) },
    commandOf: (words) => `connbook ${words}`,
    audit: {
      async record(event, _, fields) {
        lines.push(`${event} ${fields?.account}`)
      },
    },
  })
  return {
    administration,
    ...{ lines, dropped },
    stored: () => stored,
    fail: (error: Error) => {
      failure = error
    },
  }
}

const isProblem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code
const user: Account = { name: 'admin', secret: digestSecret('x'), generation: 1, scope: ADMIN_SCOPE }
const one: Accounts = { lastGeneration: 1, users: [user], clients: [] }
const draft = { name: 'eve', scope: WRITE_SCOPE, secret: 'made' } as const

describe('the administration of accounts', () => {
  it('adds no more than ACCOUNTS_MAX, of all kinds together, but for the owner', async () => {
    const clients = Array.from({ length: ACCOUNTS_MAX - 2 }, (_, i) => ({
      ...user,
      name: `c${i}`,
      generation: i + 2,
    }))
    const { administration, stored } = administer({ ...one, lastGeneration: ACCOUNTS_MAX, clients })
    await administration.add(requestOf({}), 'user', draft)
    const full = stored()
    for (const kind of ['user', 'client'] as const)
      await assert.rejects(
        administration.add(requestOf({}), kind, { ...draft, name: 'max' }),
        isProblem('too_many_accounts'),
      )
    await assert.rejects(administration.add(requestOf({}), 'user', draft), isProblem('name_taken'))
    assert.equal(stored(), full)
    const principal = { kind: 'command', name: 'root', command: 'user add', scope: ADMIN_SCOPE } as const
    await administration.add({ ...requestOf({}), principal }, 'user', { ...draft, name: 'max' })
    assert.equal(stored().users.length + stored().clients.length, ACCOUNTS_MAX + 1)
  })

  it('takes no more than ACCOUNTS_BYTES_MAX of accounts, and from a folder that has more only what makes them fewer', async () => {
    const long = Array.from({ length: 16 }, (_, i) => `read?prefix=${'%E2%82%AC'.repeat(255)}${i}`)
    const few = Math.floor(ACCOUNTS_BYTES_MAX / JSON.stringify(long).length)
    const clients = Array.from({ length: 2 * few }, (_, i) => ({
      ...{ name: `c${i}`, secret: user.secret, generation: i + 2, grants: long },
    }))
    const limited = { ...draft, grants: long }
    const isFull = (error: unknown) => error instanceof TooManyAccountsError && /2097152/.test(error.message)
    const some = administer({ ...one, lastGeneration: 5_000, clients: clients.slice(0, few - 1) })
    await some.administration.add(requestOf({}), 'client', draft)
    await some.administration.add(requestOf({}), 'client', { ...limited, name: 'last' })
    await assert.rejects(some.administration.add(requestOf({}), 'client', { ...limited, name: 'f' }), isFull)
    await assert.rejects(
      some.administration.modify(requestOf({}), 'client', 'eve', { grants: long }, undefined),
      isFull,
    )
    const many = administer({ ...one, lastGeneration: 5_000, clients })
    await assert.rejects(many.administration.add(requestOf({}), 'client', draft), isFull)
    await many.administration.modify(requestOf({}), 'client', 'c0', { grants: ['read'] }, undefined)
    await many.administration.modify(requestOf({}), 'client', 'c1', { secret: 'made' }, undefined)
    await many.administration.remove(requestOf({}), 'client', 'c2', undefined)
    assert.equal(many.stored().clients.length, 2 * few - 1)
  })

  it('lists accounts by name, by UTF-16 code unit', () => {
    const names = ['b', 'B', 'ä', 'a', '\u{1f511}', '\uff5e']
    const all = names.reduce((found, name) => addAccount(found, 'user', name, user.secret), noAccounts)
    const { administration } = administer(all)
    assert.deepEqual(
      administration.list('user').map(({ name }) => name),
      names.toSorted(),
    )
    assert.equal(administration.list('user'), administration.list('user'))
  })

  it('asks again whether the caller may, when the change is decided', async () => {
    const { administration, stored } = administer(one)
    let asked = 0
    const request = {
      ...requestOf({}),
      checkAgain() {
        asked += 1
        throw new Problem('insufficient_scope', 'not any more')
      },
    }
    const calls = [
      () => administration.add(request, 'user', { ...draft, secret: { chosen: 'a good password' } }),
      () => administration.modify(request, 'user', 'admin', { scope: WRITE_SCOPE }, undefined),
      () => administration.remove(request, 'user', 'admin', undefined),
    ]
    for (const call of calls) await assert.rejects(call, isProblem('insufficient_scope'))
    assert.deepEqual([asked, stored()], [3, one])
  })

  it('lists nothing, and forgets no credential, if the change cannot be stored', async () => {
    const { administration, fail, lines, dropped, stored } = administer(one)
    fail(new StorageFullError('no room'))
    const patch = { secret: { chosen: 'a good password' } }
    await assert.rejects(
      administration.modify(requestOf({}), 'user', 'admin', patch, undefined),
      StorageFullError,
    )
    assert.deepEqual([lines, dropped, stored()], [[], [], one])
  })

  it('forgets the ended credentials of an account whose secret has changed, and of no other', async () => {
    const { administration, dropped, lines } = administer(one)
    await administration.modify(requestOf({}), 'user', 'admin', { scope: ADMIN_SCOPE }, undefined)
    assert.deepEqual([dropped, lines], [[], []])
    const patch = { secret: { chosen: 'a good password' } }
    const { account } = await administration.modify(requestOf({}), 'user', 'admin', patch, undefined)
    assert.deepEqual([dropped, account.generation, lines], [[1], 2, ['user_password_changed admin']])
  })
})

describe('the tag of accounts', () => {
  it('changes with scope, secret and generation, and does not depend on the secret itself', () => {
    const tagIn = (accounts: Accounts) => tagOf(accounts.users)
    const changed = [
      changeScope(one, 'user', 'admin', WRITE_SCOPE),
      changeSecret(one, 'user', 'admin', digestSecret('y')),
      addAccount(one, 'user', 'eve', user.secret),
      raiseGeneration(addAccount(one, 'user', 'eve', user.secret), 'user', 'eve'),
    ]
    assert.equal(new Set([one, ...changed].map(tagIn)).size, 5)
    assert.equal(tagOf([{ ...user, secret: digestSecret('z') }]), tagOf([user]))
    assert.match(tagOf([]), /^"[\w-]{22}"$/)
  })
})
