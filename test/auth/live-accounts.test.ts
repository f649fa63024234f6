import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, unlink } from 'node:fs/promises'
import { describe, it } from 'node:test'
import {
  type Accounts,
  addAccount,
  changeSecret,
  findAccount,
  noAccounts,
  removeAccount,
} from '../../src/auth/accounts.ts'
import { withCredentialsLock } from '../../src/auth/credentials-lock.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import { findMissingAccess, remedyFor, warnOfMissingAccess } from '../../src/auth/live-accounts.ts'
import { dummyHash } from '../../src/auth/password.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { writeAtomicFile } from '../../src/files/atomic-file.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { CREDENTIALS_POLL_MS } from '../../src/files/shared-document.ts'
import { ADMIN_SCOPE, WRITE_SCOPE } from '../../src/http/scope.ts'
import { failOn } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { assertKeptWhileDamaged, followedAccounts, one, two } from './followed-accounts.ts'

describe('LiveAccounts', () => {
  it('polls at least once a second', () => assert.ok(CREDENTIALS_POLL_MS < 1000))

  it('takes up a change, and reports and logs it once', async (t) => {
    const { document, log, look, names, changes } = await followedAccounts(t)
    await look()
    assert.deepEqual(names(), ['one'])
    await document.write(two)
    await look()
    await look()
    assert.deepEqual(names(), ['one', 'two'])
    await document.write(removeAccount(two, 'client', 'one'))
    await look()
    assert.deepEqual(names(), ['two'])
    assert.equal(changes(), 2)
    assert.deepEqual(log.events, ['accounts_reloaded', 'accounts_reloaded'])
  })

  it('keeps the grants of an account as they are in memory, unless they change', async (t) => {
    const { document, live, look } = await followedAccounts(t)
    const grantsOf = () => live.find('client', 'limited')?.grants
    const limited = (grants: readonly string[]) =>
      addAccount(one, 'client', 'limited', digestSecret('3'), WRITE_SCOPE, grants)
    await document.write(limited(['read', 'write?prefix=a']))
    await look()
    const before = grantsOf()
    await document.write(removeAccount(limited(['read', 'write?prefix=a']), 'client', 'one'))
    await look()
    assert.equal(live.list('client').length, 1)
    assert.equal(grantsOf(), before)
    await document.write(limited(['read', 'write?prefix=b']))
    await look()
    assert.deepEqual(grantsOf(), ['read', 'write?prefix=b'])
  })

  it('does not read an unchanged file again', async (t) => {
    const { files, look, path } = await followedAccounts(t)
    for (let i = 0; i < 4; i += 1) await look()
    assert.equal(files.calls.filter((call) => call === `readFile ${path}`).length, 1)
  })

  it('takes up a change at once when it is asked to catch up, and only then reads', async (t) => {
    const { document, files, live, look, names, path } = await followedAccounts(t)
    // The file may have changed since its content was read.
    await live.catchUp()
    assert.equal(live.catchUp(), undefined)
    await document.write(two)
    await live.catchUp()
    assert.deepEqual(names(), ['one', 'two'])
    assert.equal(live.catchUp(), undefined)
    await look()
    assert.equal(files.calls.filter((call) => call === `readFile ${path}`).length, 2)
  })

  it('takes up a change made before its first poll', async (t) => {
    const { look, names, changes } = await followedAccounts(t, two)
    assert.deepEqual(names(), ['one', 'two'])
    await look()
    assert.deepEqual(names(), ['one'])
    assert.equal(changes(), 1)
  })

  const breakages: Record<string, [damage: (path: string) => Promise<void>, event: string]> = {
    damaged: [(path) => writeAtomicFile(path, '{', realFileSystem), 'accounts_reload_failed'],
    'a folder': [(path) => unlink(path).then(() => mkdir(path)), 'accounts_reload_failed'],
    missing: [(path) => unlink(path), 'accounts_missing'],
  }
  for (const [what, [damage, event]] of Object.entries(breakages)) {
    it(`keeps its accounts while the file is ${what}, and logs that once`, (t) =>
      assertKeptWhileDamaged(t, damage, event))
  }

  for (const operation of ['stat', 'readFile'] as const) {
    it(`tries again when ${operation} fails`, async (t) => {
      const { files, log, look, names } = await followedAccounts(t, two)
      failOn(files, operation, dataFiles.accounts, 'EMFILE', Number.POSITIVE_INFINITY)
      await look()
      await look()
      assert.deepEqual(names(), ['one', 'two'])
      assert.deepEqual(log.events, ['accounts_reload_failed'])
      files.before = () => {}
      await look()
      assert.deepEqual(names(), ['one'])
    })
  }

  it('knows whether a client has a secret chosen by a person', async (t) => {
    const { document, live, look } = await followedAccounts(t)
    assert.equal(live.hasChosenClientSecret, false)
    await document.write(addAccount(one, 'client', 'chosen', dummyHash))
    await look()
    assert.equal(live.hasChosenClientSecret, true)
  })

  it('stops polling when it is closed', async (t) => {
    const { files, live } = await followedAccounts(t)
    live.close()
    t.mock.timers.tick(10 * CREDENTIALS_POLL_MS)
    assert.deepEqual(files.calls, [])
  })
})

describe('the end of all credentials of an account', () => {
  const generationIn = (accounts: Accounts | undefined, name: string) =>
    accounts && findAccount(accounts, 'client', name)?.generation

  it('is in the file and in force when it resolves', async (t) => {
    const { changes, document, live } = await followedAccounts(t)
    assert.equal(await live.endCredentials('client', 'one', 1), true)
    assert.equal(live.find('client', 'one')?.generation, 2)
    assert.equal(live.find('client', 'one')?.secret, digestSecret('1'))
    assert.equal(generationIn(await document.read(), 'one'), 2)
    assert.equal(changes(), 1)
    assert.equal(await live.endCredentials('client', 'one', 1), false)
    assert.equal(generationIn(await document.read(), 'one'), 2)
  })

  it('keeps what a command changed meanwhile, and takes it up', async (t) => {
    const { document, live } = await followedAccounts(t)
    await document.write(changeSecret(two, 'client', 'one', digestSecret('new')))
    assert.equal(await live.endCredentials('client', 'one', 1), false)
    assert.equal(live.find('client', 'one')?.secret, digestSecret('new'))
    await document.write(removeAccount(two, 'client', 'one'))
    assert.equal(await live.endCredentials('client', 'one', 3), false)
    assert.deepEqual([live.find('client', 'one'), live.find('client', 'two')?.generation], [undefined, 2])
  })

  it('waits for a command that changes accounts, and ends what that has left', async (t) => {
    const { document, folder, live } = await followedAccounts(t)
    let ending: Promise<boolean> | undefined
    await withCredentialsLock(folder, async () => {
      ending = live.endCredentials('client', 'one', 1)
      await document.write(addAccount(one, 'client', 'two', digestSecret('2')))
    })
    assert.equal(await ending, true)
    assert.deepEqual(
      ['one', 'two'].map((name) => live.find('client', name)?.generation),
      [3, 2],
    )
  })

  const failures = { ENOSPC: StorageFullError, EIO: StorageUnavailableError }
  for (const [code, error] of Object.entries(failures)) {
    it(`changes nothing when the file cannot be written (${code})`, async (t) => {
      const { document, files, live } = await followedAccounts(t)
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
