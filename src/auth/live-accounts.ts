import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { followDocument } from '../files/followed-document.ts'
import type { Log } from '../log.ts'
import { type Account, type AccountKind, type Accounts, findAccount } from './accounts.ts'
import { accountsDocument } from './accounts-file.ts'

/** The current accounts: changes to the file are taken up. */
export interface LiveAccounts {
  find(kind: AccountKind, name: string): Account | undefined
  /** Whether some client's secret was chosen by a person, and so is slow to check. */
  readonly hasChosenClientSecret: boolean
  /** Calls `listener` after each change. */
  onChange(listener: () => void): void
  close(): void
}

/** Follows the accounts file of a folder, as `followDocument` does, from what it held when last read. */
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
