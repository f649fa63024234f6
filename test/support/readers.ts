import assert from 'node:assert/strict'
import { addAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { digestSecret, generateSecret } from '../../src/auth/secret.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { usedFolder } from './service.ts'
import { cheapHashOf } from './started-folder.ts'
import type { Lifetime } from './temporary-folder.ts'

/** A user and a client that may only read. */
export const readingUser = { username: 'reader', password: 'look only' }
export const readingClient = { client_id: 'viewer', client_secret: generateSecret() }

/** A data folder as a first start leaves it, with the read-only accounts beside the first ones. */
export async function folderWithReaders(t: Lifetime): Promise<string> {
  const folder = await usedFolder(t)
  const document = accountsDocument(dataPaths(folder))
  const first = (await document.read()) ?? assert.fail('no accounts')
  const { username, password } = readingUser
  const { client_id, client_secret } = readingClient
  const withUser = addAccount(first, 'user', username, await cheapHashOf(password), 'read')
  await document.write(addAccount(withUser, 'client', client_id, digestSecret(client_secret), 'read'))
  return folder
}
