import assert from 'node:assert/strict'
import { accountsDocument, addAccount } from '../../src/auth/accounts.ts'
import { hashPassword } from '../../src/auth/password.ts'
import { digestSecret, generateSecret } from '../../src/auth/secret.ts'
import { start } from './service.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/** A user and a client that may only read. */
export const readingUser = { username: 'reader', password: 'look only' }
export const readingClient = { client_id: 'viewer', client_secret: generateSecret() }

/** A data folder that a service has made and left, with the read-only accounts beside the first ones. */
export async function folderWithReaders(t: Lifetime): Promise<string> {
  const folder = await temporaryFolder(t)
  await (await start(t, { folder })).stop()
  const document = accountsDocument(folder)
  const first = (await document.read()) ?? assert.fail('no accounts')
  const { username, password } = readingUser
  const { client_id, client_secret } = readingClient
  const withUser = addAccount(first, 'user', username, await hashPassword(password), 'read')
  await document.write(addAccount(withUser, 'client', client_id, digestSecret(client_secret), 'read'))
  return folder
}
