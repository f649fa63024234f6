import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import { findInitialCredentials, writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const one = addAccount(noAccounts, 'client', 'one', 'sha256:1')
const two = addAccount(one, 'client', 'two', 'sha256:2')

async function setUp(t: TestContext) {
  const folder = await openedFolder(t)
  await accountsDocument(folder).write(one)
  return { folder, credentials: folderCredentials(folder) }
}

describe('an edit of the accounts of a folder', () => {
  it('is durable when it resolves, and returns what was there', async (t) => {
    const { folder, credentials } = await setUp(t)
    const { before, after } = await credentials.accounts.edit(() => two)
    assert.deepEqual([before, after], [one, two])
    assert.deepEqual(await accountsDocument(folder).read(), two)
  })

  it('runs what follows only after a write', async (t) => {
    const { folder, credentials } = await setUp(t)
    const seen: unknown[] = []
    const look = async () => void seen.push(await accountsDocument(folder).read())
    await credentials.accounts.edit((found) => found, look)
    assert.deepEqual(seen, [])
    await credentials.accounts.edit(() => two, look)
    assert.deepEqual(seen, [two])
  })

  it('changes nothing when it throws, and nothing follows', async (t) => {
    const { folder, credentials } = await setUp(t)
    const never = () => assert.fail('nothing was written')
    const fault = new Error('made by the test')
    await assert.rejects(
      credentials.accounts.edit(() => Promise.reject(fault), never),
      fault,
    )
    const files = createFailingFiles()
    failOn(files, 'write', dataFiles.accounts, 'ENOSPC')
    await assert.rejects(
      folderCredentials({ ...folder, files }).accounts.edit(() => two, never),
      { code: 'ENOSPC' },
    )
    assert.deepEqual(await accountsDocument(folder).read(), one)
  })

  it('is refused where there are no accounts', async (t) => {
    const { accounts } = folderCredentials(await openedFolder(t))
    await assert.rejects(accounts.read(), DamagedFileError)
    await assert.rejects(
      accounts.edit(() => one),
      DamagedFileError,
    )
  })
})

describe('the credentials of a folder', () => {
  it('forget the initial ones of an account', async (t) => {
    const { folder, credentials } = await setUp(t)
    await writeInitialCredentials(folder, { username: 'admin', password: 'x', client_id: 'one' })
    await credentials.initial?.forget('user', 'admin')
    assert.deepEqual(await findInitialCredentials(folder), { client_id: 'one' })
    await writeFile(credentials.initial?.file ?? '', '{}')
    assert.deepEqual(await findInitialCredentials(folder), {})
  })
})
