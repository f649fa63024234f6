import { isDeepStrictEqual } from 'node:util'
import { DamagedFileError, systemCode } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { ACCOUNTS_POLL_MS } from '../limits.ts'
import type { Log } from '../log.ts'
import { type Account, type AccountKind, type Accounts, accountsDocument, findAccount } from './accounts.ts'

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
 * Follows the accounts file of a folder: a change by another process is taken up within ACCOUNTS_POLL_MS. A file that
 * cannot be read changes nothing and is logged; one that is damaged or missing only once.
 *
 * @param accounts What the file held a moment ago.
 */
export function followAccounts(
  folder: DataPaths,
  accounts: Accounts,
  log: Log,
  files: FileSystem = realFileSystem,
): LiveAccounts {
  const path = folder.file(dataFiles.accounts)
  const document = accountsDocument(folder.path, files)
  const listeners: (() => void)[] = []
  let current = accounts
  // Undefined at first: the file may have changed since `accounts` were read.
  let lookTaken: string | undefined
  let isLooking = false
  let toldReason: string | undefined

  const timer = setInterval(look, ACCOUNTS_POLL_MS)
  timer.unref()

  async function look() {
    if (isLooking) return
    isLooking = true
    let now: string | undefined
    try {
      // Taken before the content, so that a change in between is seen the next time.
      now = await lookOf(path, files)
      if (now === lookTaken) return
      takeUp(await document.read())
      lookTaken = now
      toldReason = undefined
    } catch (error) {
      tell(String(error))
      // Any other failure may pass without a change of the file.
      if (error instanceof DamagedFileError) lookTaken = now
    } finally {
      isLooking = false
    }
  }

  /** Once, however often it is tried again. */
  function tell(reason: string) {
    if (reason !== toldReason)
      log.error('accounts_not_taken_up', { reason, in_force: 'the accounts from before' })
    toldReason = reason
  }

  function takeUp(changed: Accounts | undefined) {
    if (changed === undefined)
      return log.error('accounts_missing', { file: path, in_force: 'the accounts from before' })
    if (isDeepStrictEqual(changed, current)) return
    current = changed
    for (const listener of listeners) listener()
    log.info('accounts_taken_up', { users: current.users.length, clients: current.clients.length })
  }

  return {
    find: (kind, name) => findAccount(current, kind, name),
    get hasChosenClientSecret() {
      return current.clients.some((client) => !client.secret.startsWith('sha256:'))
    },
    onChange: (listener) => listeners.push(listener),
    close: () => clearInterval(timer),
  }
}

/** What differs when a file has been replaced. */
async function lookOf(path: string, files: FileSystem): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await files.stat(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'missing'
    throw error
  }
}
