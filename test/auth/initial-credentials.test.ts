import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { AccountKind } from '../../src/auth/accounts.ts'
import { forgetInitialCredentials, writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const user = { username: 'admin', password: 'p' }
const client = { client_id: 'default', client_secret: 's' }
const all = { ...user, ...client }

const pathIn = (folder: string) => join(folder, dataFiles.initialCredentials)

async function readIn(folder: string): Promise<unknown> {
  return JSON.parse(await readFile(pathIn(folder), 'utf8'))
}

describe('writeInitialCredentials', () => {
  it('writes a file that nobody else can read', async (t) => {
    const folder = await temporaryFolder(t)
    const umask = process.umask(0)
    t.after(() => void process.umask(umask))
    await writeInitialCredentials(dataPaths(folder), all)
    assert.deepEqual(await readIn(folder), all)
    assert.equal((await stat(pathIn(folder))).mode & 0o777, 0o600)
  })

  it('writes no file without credentials, and removes that of an interrupted start', async (t) => {
    const folder = await temporaryFolder(t)
    await writeInitialCredentials(dataPaths(folder), {})
    await writeInitialCredentials(dataPaths(folder), all)
    await writeInitialCredentials(dataPaths(folder), {})
    await assert.rejects(stat(pathIn(folder)), { code: 'ENOENT' })
  })
})

describe('forgetInitialCredentials', () => {
  const rows: readonly (readonly [kind: AccountKind, name: string, before: object, after: object])[] = [
    ['user', 'admin', all, client],
    ['client', 'default', all, user],
    ['user', 'default', all, all],
    ['client', 'admin', all, all],
    ['user', 'other', all, all],
    ['user', 'admin', { ...user, note: 'mine' }, { note: 'mine' }],
  ]
  for (const [kind, name, before, after] of rows) {
    it(`leaves ${JSON.stringify(after)} of ${JSON.stringify(before)} for ${kind} ${name}`, async (t) => {
      const folder = await temporaryFolder(t)
      await writeInitialCredentials(dataPaths(folder), before)
      await forgetInitialCredentials(dataPaths(folder), kind, name)
      assert.deepEqual(await readIn(folder), after)
    })
  }

  it('removes the file when nothing is left in it', async (t) => {
    const folder = await temporaryFolder(t)
    await writeInitialCredentials(dataPaths(folder), all)
    await forgetInitialCredentials(dataPaths(folder), 'user', 'admin')
    await forgetInitialCredentials(dataPaths(folder), 'client', 'default')
    await assert.rejects(stat(pathIn(folder)), { code: 'ENOENT' })
    await forgetInitialCredentials(dataPaths(folder), 'client', 'default')
  })

  it('leaves a file alone that it does not understand', async (t) => {
    const folder = await temporaryFolder(t)
    for (const text of ['', '{', '[]', 'null']) {
      await writeFile(pathIn(folder), text)
      await forgetInitialCredentials(dataPaths(folder), 'user', 'admin')
      assert.equal(await readFile(pathIn(folder), 'utf8'), text)
    }
  })
})
