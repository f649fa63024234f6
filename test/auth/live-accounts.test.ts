import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  type Accounts,
  addAccount,
  changeSecret,
  findAccount,
  noAccounts,
  removeAccount,
} from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import {
  findMissingAccess,
  LiveAccounts,
  remedyFor,
  warnOfMissingAccess,
} from '../../src/auth/live-accounts.ts'
import { dummyHash } from '../../src/auth/password.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { ADMIN_SCOPE, WRITE_SCOPE } from '../../src/http/scope.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const one = addAccount(noAccounts, 'client', 'one', digestSecret('1'))
const two = addAccount(one, 'client', 'two', digestSecret('2'))

/** The accounts of a folder with `one`. */
async function setUp(t: TestContext) {
  const folder = await openedFolder(t)
  const document = accountsDocument(folder)
  await document.write(one)
  const files = createFailingFiles()
  const credentials = folderCredentials({ ...folder, files }, one)
  const live = new LiveAccounts(credentials, one, createMemoryLog())
  let changes = 0
  live.onChange(() => (changes += 1))
  return {
    ...{ document, files, live },
    change: (to: Accounts) => credentials.accounts.edit(() => to),
    changes: () => changes,
  }
}

describe('LiveAccounts', () => {
  it('have each change when it is made, and report it once', async (t) => {
    const { change, live, changes } = await setUp(t)
    const names = () => live.list('client').map(({ name }) => name)
    assert.deepEqual(names(), ['one'])
    await change(two)
    assert.deepEqual(names(), ['one', 'two'])
    await change(removeAccount(two, 'client', 'one'))
    assert.deepEqual(names(), ['two'])
    assert.equal(changes(), 2)
  })

  it('keep the grants of an account as they are in memory, unless they change', async (t) => {
    const { change, live } = await setUp(t)
    const grantsOf = () => live.find('client', 'limited')?.grants
    const limited = (grants: readonly string[]) =>
      addAccount(one, 'client', 'limited', digestSecret('3'), WRITE_SCOPE, grants)
    await change(limited(['read', 'write?prefix=a']))
    const before = grantsOf()
    await change(removeAccount(limited(['read', 'write?prefix=a']), 'client', 'one'))
    assert.equal(live.list('client').length, 1)
    assert.equal(grantsOf(), before)
    await change(limited(['read', 'write?prefix=b']))
    assert.deepEqual(grantsOf(), ['read', 'write?prefix=b'])
  })

  it('know whether a client has a secret chosen by a person', async (t) => {
    const { change, live } = await setUp(t)
    assert.equal(live.hasChosenClientSecret, false)
    await change(addAccount(one, 'client', 'chosen', dummyHash))
    assert.equal(live.hasChosenClientSecret, true)
  })

  it('show a change what it gets, also of one that was made while it waited', async (t) => {
    const { live } = await setUp(t)
    const seen: (string | undefined)[] = []
    const set = (secret: string) =>
      live.change('Cannot change', 'client', 'one', (found) => {
        seen.push(live.find('client', 'one')?.secret)
        return changeSecret(found, 'client', 'one', secret)
      })
    await Promise.all([set('sha256:2'), set('sha256:3')])
    assert.deepEqual(seen, [digestSecret('1'), 'sha256:2'])
    assert.equal(live.find('client', 'one')?.secret, 'sha256:3')
  })
})

describe('the end of all credentials of an account', () => {
  const generationIn = (accounts: Accounts | undefined, name: string) =>
    accounts && findAccount(accounts, 'client', name)?.generation

  it('is in the file and in force when it resolves', async (t) => {
    const { changes, document, live } = await setUp(t)
    assert.equal(await live.endCredentials('client', 'one', 1), true)
    assert.equal(live.find('client', 'one')?.generation, 2)
    assert.equal(live.find('client', 'one')?.secret, digestSecret('1'))
    assert.equal(generationIn(await document.read(), 'one'), 2)
    assert.equal(changes(), 1)
    assert.equal(await live.endCredentials('client', 'one', 1), false)
    assert.equal(generationIn(await document.read(), 'one'), 2)
  })

  it('leaves what another request has changed while it waited', async (t) => {
    const { change, live } = await setUp(t)
    const changing = change(changeSecret(two, 'client', 'one', digestSecret('new')))
    assert.equal(await live.endCredentials('client', 'one', 1), false)
    await changing
    assert.equal(live.find('client', 'one')?.secret, digestSecret('new'))
    const removing = change(removeAccount(two, 'client', 'one'))
    assert.equal(await live.endCredentials('client', 'one', 3), false)
    await removing
    assert.deepEqual([live.find('client', 'one'), live.find('client', 'two')?.generation], [undefined, 2])
  })

  const failures = { ENOSPC: StorageFullError, EIO: StorageUnavailableError }
  for (const [code, error] of Object.entries(failures)) {
    it(`changes nothing when the file cannot be written (${code})`, async (t) => {
      const { document, files, live } = await setUp(t)
      failOn(files, 'write', '.tmp', code)
      await assert.rejects(live.endCredentials('client', 'one', 1), error)
      assert.deepEqual([live.find('client', 'one')?.generation, await document.read()], [1, one])
    })
  }
})

const reader = addAccount(noAccounts, 'client', 'probe', 'sha256:x', 'read')

const writer = addAccount(reader, 'client', 'deploy', 'sha256:x')

describe('missing accounts', () => {
  it('are found when there are none, when all are read-only, and when none is an admin', () => {
    assert.equal(findMissingAccess(noAccounts), 'log_in')
    assert.equal(findMissingAccess(reader), 'change')
    assert.equal(findMissingAccess(writer), 'administer')
    assert.equal(findMissingAccess(addAccount(reader, 'user', 'eve', 'sha256:x')), 'administer')
    assert.equal(findMissingAccess(addAccount(reader, 'user', 'eve', 'sha256:x', ADMIN_SCOPE)), undefined)
  })

  it('name the account that lacks least, and no other', () => {
    const commandOf = (words: string) => `connbook ${words} --data x`
    const user = (name: string, scope?: 'read', grants?: readonly string[]) =>
      addAccount(writer, 'user', name, 'sha256:x', scope, grants)
    const remedies = {
      'user add NAME --data x --admin': [
        writer,
        user('eve', 'read'),
        user('eve', undefined, ['read']),
        user('-x'),
      ],
      "user set 'eve b' --data x --admin": [user('eve b')],
    }
    for (const [remedy, all] of Object.entries(remedies))
      for (const accounts of all)
        assert.equal(remedyFor('administer', accounts, commandOf), `connbook ${remedy}`)
    const readers = addAccount(reader, 'user', 'eve', 'sha256:x', 'read')
    assert.equal(remedyFor('change', readers, commandOf), 'connbook user set eve --data x --read-write')
    assert.equal(remedyFor('change', reader, commandOf), 'connbook user add NAME --data x')
    assert.equal(remedyFor('log_in', noAccounts, commandOf), 'connbook user add NAME --data x')
  })

  it('are logged, with the command that adds one', () => {
    const log = createMemoryLog()
    const { commandOf } = folderCredentials(dataPaths('/a b'))
    for (const accounts of [noAccounts, reader, writer]) warnOfMissingAccess(accounts, commandOf, log)
    assert.equal(log.lines.length, 3)
    assert.match(log.lines[0] ?? '', /"level":"warn","event":"nobody_can_log_in"/)
    assert.match(log.lines[1] ?? '', /"level":"warn","event":"nobody_can_change"/)
    assert.match(
      log.lines[2] ?? '',
      /"level":"warn","event":"nobody_can_administer".*--data '\/a b' --admin"/,
    )
    for (const line of log.lines) assert.match(line, /run: connbook user add NAME --data '\/a b'/)
  })
})
