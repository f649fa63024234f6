import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { JsonDocument } from '../files/json-document.ts'
import { DocumentFollower, type SharedDocument } from '../files/shared-document.ts'
import { quoteForShell } from '../shell.ts'
import type { Accounts } from './accounts.ts'
import { accountsDocument, accountsMissing } from './accounts-file.ts'
import type { CredentialStorage } from './credential-storage.ts'
import { withCredentialsLock } from './credentials-lock.ts'
import { forgetInitialCredentials } from './initial-credentials.ts'
import { keysDocument, readKeys, type StoredKey } from './keys.ts'
import { checkRevocations, openRevocationsFile } from './revocations-file.ts'

/** The accounts and keys of a folder that has been in use. */
export function folderCredentials(folder: DataPaths): CredentialStorage {
  return {
    place: folder.path,
    commandOf: (words) => `connbook ${words} --data ${quoteForShell(folder.path)}`,
    accounts: folderAccounts(folder),
    keys: folderKeys(folder),
    initial: {
      file: folder.file(dataFiles.initialCredentials),
      forget: (kind, name) => forgetInitialCredentials(folder, kind, name),
    },
    async latestMoment() {
      return (await checkRevocations(folder, true, 'r'))?.passed ?? 0
    },
    async hasRevocations() {
      const file = await openRevocationsFile(folder, 'r')
      await file?.close()
      return file !== undefined
    },
  }
}

/** The accounts of a folder that has been in use. */
function folderAccounts(folder: DataPaths): SharedDocument<Accounts> {
  const document = accountsDocument(folder)
  const read = async () => {
    const found = await document.read()
    if (found === undefined) throw accountsMissing(folder)
    return found
  }
  return folderDocument(folder, 'accounts', document, read)
}

/** The keys of a folder. @param isInUse As for `readKeys`. */
export function folderKeys(folder: DataPaths, isInUse = true): SharedDocument<readonly StoredKey[]> {
  return folderDocument(folder, 'keys', keysDocument(folder), () => readKeys(folder, isInUse))
}

/** A document that is changed under the credentials lock, and followed by polling. */
function folderDocument<Content>(
  folder: DataPaths,
  name: 'accounts' | 'keys',
  document: JsonDocument<Content>,
  read: () => Promise<Content>,
): SharedDocument<Content> {
  return {
    read,
    edit: (change, afterwards) =>
      withCredentialsLock(folder, async () => {
        const before = await read()
        const after = await change(before)
        if (after === before) return { before, after }
        await document.write(after)
        await afterwards?.()
        return { before, after }
      }),
    follow: (following) =>
      new DocumentFollower({
        ...following,
        path: folder.file(dataFiles[name]),
        document,
        name,
        files: folder.files,
      }),
  }
}
