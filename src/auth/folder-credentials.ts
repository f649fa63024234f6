import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { OwnedDocument, type SharedDocument } from '../files/shared-document.ts'
import { quoteForShell } from '../shell.ts'
import type { Accounts } from './accounts.ts'
import { accountsDocument, accountsMissing } from './accounts-file.ts'
import type { CredentialStorage } from './credential-storage.ts'
import { forgetInitialCredentials } from './initial-credentials.ts'
import { keysDocument, readKeys, type StoredKey } from './keys.ts'

/**
 * The accounts and keys of a folder that has been in use; only its owner may change them.
 *
 * @param accounts As stored; read when they are first needed if absent.
 */
export function folderCredentials(
  folder: DataPaths,
  accounts?: Accounts,
  keys = folderKeys(folder),
): CredentialStorage {
  return credentialsBeside(folder, { accounts: folderAccounts(folder, accounts), keys })
}

/** Accounts and keys, wherever they are kept, of a server or node that has this folder. */
export function credentialsBeside(
  folder: DataPaths,
  documents: Pick<CredentialStorage, 'accounts' | 'keys'>,
): CredentialStorage {
  return {
    ...documents,
    commandOf: (words) => `connbook ${words} --data ${quoteForShell(folder.path)}`,
    initial: {
      file: folder.file(dataFiles.initialCredentials),
      forget: (kind, name) => forgetInitialCredentials(folder, kind, name),
    },
  }
}

function folderAccounts(folder: DataPaths, accounts: Accounts | undefined): SharedDocument<Accounts> {
  const { read, write } = accountsDocument(folder)
  const readExisting = async () => {
    const found = await read()
    if (found === undefined) throw accountsMissing(folder)
    return found
  }
  return new OwnedDocument({ read: readExisting, write }, accounts)
}

/** The keys of a folder. @param isInUse As for `readKeys`. */
export function folderKeys(folder: DataPaths, isInUse = true): SharedDocument<readonly StoredKey[]> {
  const { write } = keysDocument(folder)
  return new OwnedDocument({ read: () => readKeys(folder, isInUse), write })
}
