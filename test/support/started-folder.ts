import crypto, { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { folderKeys } from '../../src/auth/folder-credentials.ts'
import { openRevocations } from '../../src/auth/folder-revocations.ts'
import { prepareKeys } from '../../src/auth/key-rotation.ts'
import { openDataFolder } from '../../src/files/data-folder.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import { createMemoryLog } from './memory-log.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

const hashes = new Map<string, Promise<string>>()

/**
 * A folder as a first start leaves it, but with cheap hashes of its secrets: most tests are about something else, and
 * would spend half of their time on hashing.
 */
export async function startedFolder(
  t: Lifetime,
  user: { readonly name: string; readonly secret: string },
  client: { readonly name: string; readonly secret: string },
): Promise<string> {
  const path = await temporaryFolder(t)
  const log = createMemoryLog()
  const folder = await openDataFolder(path)
  try {
    const revocations = await openRevocations(folder, { mustExist: false, log })
    await revocations.close()
    await prepareKeys(folderKeys(folder, false), 1, Math.floor(Date.now() / 1000))
    await (await openConfigurationStore(folder, { mustExist: false, log })).close()
    const withUser = addAccount(noAccounts, 'user', user.name, await cheapHashOf(user.secret))
    await accountsDocument(folder).write(
      addAccount(withUser, 'client', client.name, await cheapHashOf(client.secret)),
    )
  } finally {
    await folder.release()
  }
  return path
}

/** A hash that is cheap to make and to check; the same each time. */
export function cheapHashOf(secret: string): Promise<string> {
  const known = hashes.get(secret) ?? hashWithLeastWork(secret)
  hashes.set(secret, known)
  return known
}

async function hashWithLeastWork(secret: string): Promise<string> {
  const nonce = randomBytes(16)
  const least = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 }
  const tag = await promisify(crypto.argon2)('argon2id', { message: secret, nonce, ...least })
  const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=8,t=1,p=1$${encode(nonce)}$${encode(tag)}`
}
