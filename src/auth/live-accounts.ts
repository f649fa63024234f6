import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { followDocument } from '../files/followed-document.ts'
import type { Log } from '../log.ts'
import { type Account, type AccountKind, type Accounts, findAccount } from './accounts.ts'
import { accountsDocument } from './accounts-file.ts'

/** The accounts as they are now, whoever changes them. */
export interface LiveAccounts {
  find(kind: AccountKind, name: string): Account | undefined
  /** Whether some client's secret was chosen by a person, so that checking it takes long. */
  readonly hasChosenClientSecret: boolean
  /** Calls back after each change that was taken up. */
  onChange(listener: () => void): void
  close(): void
}

/**
 * Follows the accounts file of a folder, as `followDocument` does.
 *
 * @param accounts What the file held a moment ago.
 */
export function followAccounts(folder: DataPaths, accounts: Accounts, log: Log): LiveAccounts {
  const listeners: (() => void)[] = []
  let current = accounts
  const close = followDocument<Accounts>({
    path: folder.file(dataFiles.accounts),
    document: accountsDocument(folder),
    content: accounts,
    name: 'accounts',
    takeUp(changed) {
      current = changed
      for (const listener of listeners) listener()
      log.info('accounts_taken_up', { users: current.users.length, clients: current.clients.length })
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
    close,
  }
}
