import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  AccountExistsError,
  type Accounts,
  addAccount,
  changeSecret,
  checkAccountName,
  findAccount,
  listOf,
  noAccounts,
  removeAccount,
  scopeOf,
  UnknownAccountError,
} from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { withCredentialsLock } from '../../src/auth/credentials-lock.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { DamagedFileError, InvalidInputError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { lockFile } from '../../src/files/file-lock.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { createJsonDocument } from '../../src/files/json-document.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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

  it('are values: a change makes new ones', () => {
    const before = JSON.stringify(two)
    changeSecret(two, 'user', 'admin', digestSecret('3'))
    removeAccount(two, 'user', 'admin')
    assert.equal(JSON.stringify(two), before)
    assert.deepEqual(noAccounts, { lastGeneration: 0, users: [], clients: [] })
  })

  it('are added once', () => {
    assert.throws(() => addAccount(two, 'user', 'admin', ''), AccountExistsError)
    assert.deepEqual(namesOf(addAccount(two, 'user', 'other', '')), ['admin', 'other'])
  })

  it('must exist to be changed or removed', () => {
    assert.throws(() => changeSecret(one, 'client', 'admin', ''), UnknownAccountError)
    assert.throws(() => removeAccount(one, 'client', 'admin'), UnknownAccountError)
  })

  it('get a new generation with a new secret, and the others keep theirs', () => {
    const changed = changeSecret(two, 'user', 'admin', digestSecret('3'))
    assert.equal(findAccount(changed, 'user', 'admin')?.secret, digestSecret('3'))
    assert.equal(generationOf(changed), 3)
    assert.deepEqual(changed.clients, two.clients)
  })

  it('never get a generation twice, not even when removed and made anew', () => {
    const again = addAccount(removeAccount(one, 'user', 'admin'), 'user', 'admin', digestSecret('1'))
    assert.ok((generationOf(again) ?? 0) > (generationOf(one) ?? 0))
    assert.deepEqual(namesOf(removeAccount(two, 'user', 'admin')), [])
  })
})

describe('the scope of an account', () => {
  const eve = (accounts: Accounts) => findAccount(accounts, 'user', 'eve') ?? assert.fail('no eve')
  const reading = addAccount(two, 'user', 'eve', digestSecret('3'), 'read')

  it('is read and write, said by nothing, unless it was added as read-only', () => {
    assert.equal(scopeOf(eve(reading)), 'read')
    const writing = addAccount(two, 'user', 'eve', digestSecret('3'))
    assert.equal(scopeOf(eve(writing)), 'read write')
    assert.deepEqual(eve(writing), { name: 'eve', secret: digestSecret('3'), generation: 3 })
    assert.deepEqual(writing, addAccount(two, 'user', 'eve', digestSecret('3'), 'read write'))
  })

  it('stays with a new secret, and goes with the account', () => {
    const changed = changeSecret(reading, 'user', 'eve', digestSecret('4'))
    assert.deepEqual(eve(changed), { name: 'eve', secret: digestSecret('4'), generation: 4, scope: 'read' })
    const anew = addAccount(removeAccount(changed, 'user', 'eve'), 'user', 'eve', digestSecret('4'))
    assert.equal(scopeOf(eve(anew)), 'read write')
  })

  it('is kept in the file; an older file, which says nothing, means both', async (t) => {
    const folder = await temporaryFolder(t)
    const document = accountsDocument(dataPaths(folder))
    await document.write(reading)
    assert.deepEqual(await document.read(), reading)
    const old = { name: 'eve', secret: digestSecret('3'), generation: 1 }
    const path = join(folder, dataFiles.accounts)
    const content = { lastGeneration: 1, users: [old], clients: [] }
    await createJsonDocument(path, 'connbook accounts', (input) => input, '', realFileSystem).write(content)
    assert.equal(scopeOf(eve((await document.read()) ?? noAccounts)), 'read write')
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

describe('accountsDocument', () => {
  it('gives back what it was given, and nothing where there is no file', async (t) => {
    const document = accountsDocument(dataPaths(await temporaryFolder(t)))
    assert.equal(await document.read(), undefined)
    await document.write(two)
    assert.deepEqual(await document.read(), two)
  })

  const account = { name: 'a', secret: digestSecret('a'), generation: 1 }
  const contents: Record<string, unknown> = {
    null: null,
    'no last generation': { users: [], clients: [] },
    'no users': { lastGeneration: 0, clients: [] },
    'clients that are no list': { lastGeneration: 0, users: [], clients: {} },
    'an entry that is no account': { lastGeneration: 1, users: ['a'], clients: [] },
    'a name that is no string': { lastGeneration: 1, users: [{ ...account, name: 1 }], clients: [] },
    'a generation that is no number': {
      lastGeneration: 1,
      users: [{ ...account, generation: '1' }],
      clients: [],
    },
    'an empty scope': { lastGeneration: 1, users: [{ ...account, scope: '' }], clients: [] },
    'an unknown scope': { lastGeneration: 1, users: [], clients: [{ ...account, scope: 'write' }] },
    'a scope that is no string': { lastGeneration: 1, users: [{ ...account, scope: null }], clients: [] },
    'an account with a member more': {
      lastGeneration: 1,
      users: [],
      clients: [{ ...account, expires: 1 }],
    },
    'a member more': { lastGeneration: 1, users: [], clients: [], groups: [] },
    'a secret in the clear': { lastGeneration: 1, users: [{ ...account, secret: 'secret' }], clients: [] },
  }
  for (const [what, content] of Object.entries(contents)) {
    it(`refuses ${what}`, async (t) => {
      const folder = await temporaryFolder(t)
      const path = join(folder, dataFiles.accounts)
      await createJsonDocument(path, 'connbook accounts', (input) => input, '', realFileSystem).write(content)
      await assert.rejects(accountsDocument(dataPaths(folder)).read(), DamagedFileError)
    })
  }

  it('refuses a file that was changed by hand, without telling what is in it', async (t) => {
    const folder = await temporaryFolder(t)
    await accountsDocument(dataPaths(folder)).write(two)
    const path = join(folder, dataFiles.accounts)
    await writeFile(path, (await readFile(path, 'utf8')).replace('"admin"', '"root"'))
    await assert.rejects(accountsDocument(dataPaths(folder)).read(), (error) => {
      assert.ok(error instanceof DamagedFileError)
      assert.match(error.message, /checksum differs at byte 0; put it back/)
      return !error.message.includes('sha256:')
    })
  })
})

describe('withCredentialsLock', () => {
  it('sweeps what a killed command left behind, and nothing else', async (t) => {
    const folder = await temporaryFolder(t)
    const names = [
      '.accounts.json.0123456789ab.tmp',
      '.keys.json.0123456789ab.tmp',
      '.journal.jsonl.0123456789ab.tmp',
      '.other.0123456789ab.tmp',
    ]
    for (const name of names) await writeFile(join(folder, name), '')
    await withCredentialsLock(dataPaths(folder), async () => {})
    for (const name of names.slice(0, 2))
      await assert.rejects(readFile(join(folder, name)), { code: 'ENOENT' })
    for (const name of names.slice(2)) await readFile(join(folder, name))
  })

  it('gives the lock back when the action fails', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(
      withCredentialsLock(dataPaths(folder), () => Promise.reject(new Error('made by the test'))),
    )
    assert.equal(await withCredentialsLock(dataPaths(folder), async () => 'done'), 'done')
  })

  it('waits for another holder, and lets the process go on meanwhile', async (t) => {
    const folder = await temporaryFolder(t)
    const other = lockFile(join(folder, dataFiles.accountsLock))
    const files = createFailingFiles()
    const { promise: triedAgain, resolve } = Promise.withResolvers<void>()
    let tries = 0
    files.before = (operation) => {
      if (operation === 'access' && ++tries === 2) resolve()
    }
    const done: string[] = []
    const waiting = withCredentialsLock(dataPaths(folder, files), async () => done.push('this'))
    await triedAgain
    done.push('other')
    other?.release()
    await waiting
    assert.deepEqual(done, ['other', 'this'])
  })
})
