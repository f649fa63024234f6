import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, unlinkSync } from 'node:fs'
import { rm, unlink } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Accounts,
  addAccount,
  changeSecret,
  findAccount,
  noAccounts,
  removeAccount,
} from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { withCredentialsLock } from '../../src/auth/credentials-lock.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import { followAccounts } from '../../src/auth/live-accounts.ts'
import { dummyHash } from '../../src/auth/password.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { writeAtomicFile } from '../../src/files/atomic-file.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { CREDENTIALS_POLL_MS } from '../../src/limits.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/opened-folder.ts'

const one = addAccount(noAccounts, 'client', 'one', digestSecret('1'))
const two = addAccount(one, 'client', 'two', digestSecret('2'))

/** @param known The content that the follower starts with; the file holds `one`. */
async function setUp(t: TestContext, known: Accounts = one) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await openedFolder(t)
  const document = accountsDocument(folder)
  await document.write(one)
  const log = createMemoryLog()
  const files = createFailingFiles()
  const live = followAccounts(folderCredentials({ ...folder, files }), known, log)
  t.after(() => live.close())
  let changes = 0
  live.onChange(() => (changes += 1))
  const looks = () => files.calls.filter((call) => call.startsWith('stat ')).length
  return {
    document,
    folder,
    files,
    live,
    log,
    path: folder.file(dataFiles.accounts),
    changes: () => changes,
    names: () => ['one', 'two'].filter((name) => live.find('client', name) !== undefined),
    /** Lets time pass until one poll of the file is complete: the next begins only then. */
    async look() {
      for (const before = looks(); looks() < before + 2; await nextTurn())
        t.mock.timers.tick(CREDENTIALS_POLL_MS)
    },
  }
}

/** Replaces a file so fast that hardly any poll finds it missing. */
async function replaceBy(path: string, make: (path: string) => void): Promise<void> {
  make(`${path}.new`)
  unlinkSync(path)
  renameSync(`${path}.new`, path)
}

describe('followAccounts', () => {
  it('polls at least once a second', () => assert.ok(CREDENTIALS_POLL_MS < 1000))

  it('takes up a change, and reports and logs it once', async (t) => {
    const { document, log, look, names, changes } = await setUp(t)
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
    assert.deepEqual(log.events, ['accounts_taken_up', 'accounts_taken_up'])
  })

  it('does not read an unchanged file again', async (t) => {
    const { files, look, path } = await setUp(t)
    for (let i = 0; i < 4; i += 1) await look()
    assert.equal(files.calls.filter((call) => call === `readFile ${path}`).length, 1)
  })

  it('takes up a change made before its first poll', async (t) => {
    const { look, names, changes } = await setUp(t, two)
    assert.deepEqual(names(), ['one', 'two'])
    await look()
    assert.deepEqual(names(), ['one'])
    assert.equal(changes(), 1)
  })

  const breakages: Record<string, [action: (path: string) => Promise<void>, event: string]> = {
    damaged: [(path) => writeAtomicFile(path, '{', realFileSystem), 'accounts_not_taken_up'],
    'a pipe': [(path) => replaceBy(path, (at) => execFileSync('mkfifo', [at])), 'accounts_not_taken_up'],
    'a folder': [(path) => replaceBy(path, (at) => mkdirSync(at)), 'accounts_not_taken_up'],
    missing: [(path) => unlink(path), 'accounts_missing'],
  }
  for (const [what, [damage, event]] of Object.entries(breakages)) {
    it(`keeps its accounts while the file is ${what}, and logs that once`, async (t) => {
      const { document, log, look, names, path } = await setUp(t)
      await look()
      await damage(path)
      await look()
      await look()
      assert.deepEqual(names(), ['one'])
      assert.deepEqual(log.events, [event])
      await rm(path, { recursive: true, force: true })
      await document.write(two)
      await look()
      assert.deepEqual(names(), ['one', 'two'])
    })
  }

  for (const operation of ['stat', 'readFile'] as const) {
    it(`tries again when ${operation} fails`, async (t) => {
      const { files, log, look, names } = await setUp(t, two)
      failOn(files, operation, dataFiles.accounts, 'EMFILE', Number.POSITIVE_INFINITY)
      await look()
      await look()
      assert.deepEqual(names(), ['one', 'two'])
      assert.deepEqual(log.events, ['accounts_not_taken_up'])
      files.before = () => {}
      await look()
      assert.deepEqual(names(), ['one'])
    })
  }

  it('knows whether a client has a secret chosen by a person', async (t) => {
    const { document, live, look } = await setUp(t)
    assert.equal(live.hasChosenClientSecret, false)
    await document.write(addAccount(one, 'client', 'chosen', dummyHash))
    await look()
    assert.equal(live.hasChosenClientSecret, true)
  })

  it('stops polling when it is closed', async (t) => {
    const { files, live } = await setUp(t)
    live.close()
    t.mock.timers.tick(10 * CREDENTIALS_POLL_MS)
    assert.deepEqual(files.calls, [])
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

  it('keeps what a command changed meanwhile, and takes it up', async (t) => {
    const { document, live } = await setUp(t)
    await document.write(changeSecret(two, 'client', 'one', digestSecret('new')))
    assert.equal(await live.endCredentials('client', 'one', 1), false)
    assert.equal(live.find('client', 'one')?.secret, digestSecret('new'))
    await document.write(removeAccount(two, 'client', 'one'))
    assert.equal(await live.endCredentials('client', 'one', 3), false)
    assert.deepEqual([live.find('client', 'one'), live.find('client', 'two')?.generation], [undefined, 2])
  })

  it('waits for a command that changes accounts, and ends what that has left', async (t) => {
    const { document, folder, live } = await setUp(t)
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
      const { document, files, live } = await setUp(t)
      failOn(files, 'write', '.tmp', code)
      await assert.rejects(live.endCredentials('client', 'one', 1), error)
      assert.deepEqual([live.find('client', 'one')?.generation, await document.read()], [1, one])
    })
  }
})
