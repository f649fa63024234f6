import crypto, { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { folderKeys } from '../../src/auth/folder-credentials.ts'
import { openRevocations } from '../../src/auth/folder-revocations.ts'
import { writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { prepareKeys } from '../../src/auth/key-rotation.ts'
import { createKey, keysForm } from '../../src/auth/keys.ts'
import { REVOCATIONS_VERSION } from '../../src/auth/revocations-file.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { seal } from '../../src/files/json-document.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { ADMIN_SCOPE } from '../../src/http/scope.ts'
import { encodeJournalStart } from '../../src/journal/journal-file.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import { CHANGE_VERSION } from '../../src/store/change.ts'
import { type FolderImage, readImage } from './folder-image.ts'
import { createMemoryLog } from './memory-log.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

interface Account {
  readonly name: string
  readonly secret: string
}

const TTL_SECONDS = 1
const hashes = new Map<string, Promise<string>>()

/** The files of folders that were made, by their accounts. */
const images = new Map<string, FolderImage>()

/**
 * A folder as a first start leaves it, but with cheap hashes of its secrets: most tests are about something else, and
 * would spend half of their time on hashing. All but the first are copies, with a store, a key and a time of their own.
 */
export async function startedFolder(t: Lifetime, user: Account, client: Account): Promise<string> {
  const path = await temporaryFolder(t)
  const accounts = JSON.stringify([user, client])
  const image = images.get(accounts)
  if (image === undefined) {
    await make(path, user, client)
    images.set(accounts, await readImage(path))
    return path
  }
  const now = Date.now()
  const key = createKey(Math.floor(now / 1000), TTL_SECONDS)
  const store = () => ({ store: randomBytes(16).toString('hex'), after: 0 })
  const own: Record<string, Uint8Array | string> = {
    [dataFiles.keys]: `${JSON.stringify(seal(keysForm, [key]), null, 2)}\n`,
    [dataFiles.journal]: encodeJournalStart({ ...store(), version: CHANGE_VERSION }, []).bytes,
    [dataFiles.revocations]: encodeJournalStart({ ...store(), version: REVOCATIONS_VERSION }, [
      { passed: now },
    ]).bytes,
  }
  for (const [name, bytes] of image) writeFileSync(join(path, name), own[name] ?? bytes)
  return path
}

async function make(path: string, user: Account, client: Account): Promise<void> {
  const log = createMemoryLog()
  const folder = await openDataFolder(path)
  try {
    const revocations = await openRevocations(folder, { mustExist: false, log })
    await revocations.close()
    await prepareKeys(folderKeys(folder, false), TTL_SECONDS, Math.floor(Date.now() / 1000))
    await (await openConfigurationStore(folder, { mustExist: false, log })).close()
    const withUser = addAccount(noAccounts, 'user', user.name, await cheapHashOf(user.secret), ADMIN_SCOPE)
    await accountsDocument(folder).write(
      addAccount(withUser, 'client', client.name, await cheapHashOf(client.secret)),
    )
  } finally {
    await folder.release()
  }
}

/** The credentials that the first start generated. */
export const initial = {
  username: 'admin',
  password: 'made up for a user',
  client_id: 'default',
  client_secret: 'made up for a client',
}

/** Makes a folder as a first start with generated credentials leaves it; they are cheap to check. */
export async function makeInitialFolder(t: Lifetime, path: string): Promise<void> {
  const user = { name: initial.username, secret: initial.password }
  const client = { name: initial.client_id, secret: initial.client_secret }
  await cp(await startedFolder(t, user, client), path, { recursive: true })
  await writeInitialCredentials(dataPaths(path), initial)
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
