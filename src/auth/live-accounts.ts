import {
  isNoRoom,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  systemCode,
} from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { followDocument } from '../files/followed-document.ts'
import type { Log } from '../log.ts'
import { type Account, type AccountKind, type Accounts, findAccount, raiseGeneration } from './accounts.ts'
import { accountsDocument } from './accounts-file.ts'
import { AccountsBusyError, withCredentialsLock } from './credentials-lock.ts'
import { warnOfMissingAccess } from './missing-accounts.ts'

/** The current accounts: changes to the file are taken up. */
export interface LiveAccounts {
  find(kind: AccountKind, name: string): Account | undefined
  /** Whether some client's secret was chosen by a person, and so is slow to check. */
  readonly hasChosenClientSecret: boolean
  /** Calls `listener` after each change. */
  onChange(listener: () => void): void
  /**
   * Ends every session and token of an account: gives it a new generation, unless it has another one already. Resolves
   * once that is durable, and is taken up here.
   *
   * @param generation The one that ends.
   * @returns Whether the generation was raised.
   * @throws {OverloadedError} while a command changes accounts. {StorageFullError} {StorageUnavailableError}
   */
  endCredentials(kind: AccountKind, name: string, generation: number): Promise<boolean>
  close(): void
}

/** Follows the accounts file of a folder, as `followDocument` does, from what it held when last read. */
export function followAccounts(folder: DataPaths, accounts: Accounts, log: Log): LiveAccounts {
  const listeners: (() => void)[] = []
  let current = accounts
  const document = accountsDocument(folder)
  const follower = followDocument<Accounts>({
    path: folder.file(dataFiles.accounts),
    document,
    content: accounts,
    name: 'accounts',
    takeUp(changed) {
      current = changed
      for (const listener of listeners) listener()
      log.info('accounts_taken_up', { users: current.users.length, clients: current.clients.length })
      warnOfMissingAccess(current, folder, log)
    },
    log,
    files: folder.files,
  })

  return {
    find: (kind, name) => findAccount(current, kind, name),
    get hasChosenClientSecret() {
      return current.clients.some((client) => !client.secret.startsWith('sha256:'))
    },
    onChange: (listener) => listeners.push(listener),
    async endCredentials(kind, name, generation) {
      const hasRaised = await withCredentialsLock(folder, async () => {
        // A command may have changed the account since.
        const found = await document.read()
        if (found === undefined || findAccount(found, kind, name)?.generation !== generation) return false
        await document.write(raiseGeneration(found, kind, name))
        return true
      }).catch(throwForCaller)
      await follower.look()
      if (findAccount(current, kind, name)?.generation !== generation) return hasRaised
      throw new StorageUnavailableError('Cannot end the credential: the file of accounts cannot be read')
    },
    close: follower.close,
  }
}

/** Makes of an error what a caller may know. */
function throwForCaller(error: unknown): never {
  if (error instanceof AccountsBusyError)
    throw new OverloadedError('Cannot end the credential: a command changes accounts; try again in a moment')
  const code = systemCode(error)
  if (code === undefined) throw error
  if (isNoRoom(code))
    throw new StorageFullError('Cannot end the credential: no room is left on the disk', { cause: error })
  throw new StorageUnavailableError('Cannot end the credential: the disk failed', { cause: error })
}
