import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { addAccount, findAccount, noAccounts, scopeOf } from '../../src/auth/accounts.ts'
import { accountsDocument, accountsForm } from '../../src/auth/accounts-file.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { createJsonDocument } from '../../src/files/json-document.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const one = addAccount(noAccounts, 'user', 'admin', digestSecret('1'))
const two = addAccount(one, 'client', 'admin', digestSecret('2'))
const reading = addAccount(two, 'user', 'eve', digestSecret('3'), 'read')

describe('accountsDocument', () => {
  it('reads what it wrote, and nothing if there is no file', async (t) => {
    const document = accountsDocument(dataPaths(await temporaryFolder(t)))
    assert.equal(await document.read(), undefined)
    await document.write(two)
    assert.deepEqual(await document.read(), two)
  })

  it('keeps the scope of an account; no scope, as in an older file, means read and write', async (t) => {
    const folder = await temporaryFolder(t)
    const document = accountsDocument(dataPaths(folder))
    await document.write(reading)
    assert.deepEqual(await document.read(), reading)
    const old = { name: 'eve', secret: digestSecret('3'), generation: 1 }
    const path = join(folder, dataFiles.accounts)
    const content = { lastGeneration: 1, users: [old], clients: [] }
    await createJsonDocument(
      path,
      { format: 'connbook accounts', version: 1, parse: (input) => input },
      '',
      realFileSystem,
    ).write(content)
    assert.equal(
      scopeOf(findAccount((await document.read()) ?? noAccounts, 'user', 'eve') ?? assert.fail('no eve')),
      'read write',
    )
  })

  it('is written in the newest form, whatever it holds', async (t) => {
    const folder = await temporaryFolder(t)
    const document = accountsDocument(dataPaths(folder))
    await document.write(reading)
    assert.equal(JSON.parse(await readFile(join(folder, dataFiles.accounts), 'utf8')).version, 2)
    assert.deepEqual(await document.read(), reading)
  })

  it('refuses a version that it does not know', async (t) => {
    const folder = await temporaryFolder(t)
    const path = join(folder, dataFiles.accounts)
    const newest = { ...accountsForm, version: 3 }
    await createJsonDocument(path, newest, '', realFileSystem).write(two)
    await assert.rejects(accountsDocument(dataPaths(folder)).read(), /newer connbook: version 3 is unknown/)
  })

  const account = { name: 'a', secret: digestSecret('a'), generation: 1 }
  const contents: Record<string, unknown> = {
    null: null,
    'no last generation': { users: [], clients: [] },
    'no users': { lastGeneration: 0, clients: [] },
    'clients that are not a list': { lastGeneration: 0, users: [], clients: {} },
    'an entry that is not an account': { lastGeneration: 1, users: ['a'], clients: [] },
    'a name that is not a string': { lastGeneration: 1, users: [{ ...account, name: 1 }], clients: [] },
    'a generation that is not a number': {
      lastGeneration: 1,
      users: [{ ...account, generation: '1' }],
      clients: [],
    },
    'an empty scope': { lastGeneration: 1, users: [{ ...account, scope: '' }], clients: [] },
    'an unknown scope': { lastGeneration: 1, users: [], clients: [{ ...account, scope: 'write' }] },
    'a scope that is not a string': { lastGeneration: 1, users: [{ ...account, scope: null }], clients: [] },
    'grants that are none': { lastGeneration: 1, users: [{ ...account, grants: [] }], clients: [] },
    'a grant that it does not know': {
      lastGeneration: 1,
      users: [{ ...account, grants: ['read?q=a'] }],
      clients: [],
    },
    'an account with an unknown member': {
      lastGeneration: 1,
      users: [],
      clients: [{ ...account, expires: 1 }],
    },
    'an unknown member': { lastGeneration: 1, users: [], clients: [], groups: [] },
    'a secret in the clear': { lastGeneration: 1, users: [{ ...account, secret: 'secret' }], clients: [] },
  }
  for (const [what, content] of Object.entries(contents)) {
    it(`refuses ${what}`, async (t) => {
      const folder = await temporaryFolder(t)
      const path = join(folder, dataFiles.accounts)
      await createJsonDocument(
        path,
        { format: 'connbook accounts', version: 1, parse: (input) => input },
        '',
        realFileSystem,
      ).write(content)
      await assert.rejects(accountsDocument(dataPaths(folder)).read(), DamagedFileError)
    })
  }

  it('refuses a file that was changed by hand, without showing its content', async (t) => {
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
