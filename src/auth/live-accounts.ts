import { isDeepStrictEqual } from 'node:util'
import {
  InvalidInputError,
  isNoRoom,
  OutcomeUnknownError,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  systemCode,
} from '../errors.ts'
import { DocumentBusyError } from '../files/shared-document.ts'
import { Problem } from '../http/problem.ts'
import { allows } from '../http/scope.ts'
import type { Log } from '../log.ts'
import { type AccountChange, changeAccount } from './account-changes.ts'
import {
  type Account,
  type AccountKind,
  type Accounts,
  changeSecret,
  findAccount,
  hasAdmin,
  listOf,
  raiseGeneration,
  scopeOf,
} from './accounts.ts'
import type { CredentialStorage } from './credential-storage.ts'

const END_CREDENTIAL = 'Cannot end the credential'
const CHANGE_PASSWORD = 'Cannot change the password'

/** The current accounts: changes to what is stored are taken up. */
export interface LiveAccounts {
  find(kind: AccountKind, name: string): Account | undefined
  /** In the order in which they were added. */
  list(kind: AccountKind): readonly Account[]
  /** Whether some client's secret was chosen by a person, and so is slow to check. */
  readonly hasChosenClientSecret: boolean
  /** Calls `listener` after each change. */
  onChange(listener: () => void): void
  /** As `Follower.catchUp`. */
  catchUp(): Promise<void> | undefined
  /**
   * Ends every session and token of an account: gives it a new generation, unless it has another one already. Resolves
   * once that is durable, and is taken up here.
   *
   * @param generation The one that ends.
   * @returns Whether the generation was raised.
   * @throws {OverloadedError} while a command changes accounts. {StorageFullError} {StorageUnavailableError}
   * @throws {OutcomeUnknownError}
   */
  endCredentials(kind: AccountKind, name: string, generation: number): Promise<boolean>
  /**
   * Changes a user's password, which ends all the user's sessions, and takes it out of the initial credentials. Resolves
   * once that is durable, and is taken up here.
   *
   * @param generation The one whose session asks for it.
   * @param secret As `hashPassword` makes it.
   * @param isAllowed Whether the session is still good: asked when the change is decided, after the wait for others.
   * @returns The account with its new generation; undefined if it has another generation already, is gone, or the change is
   *   not allowed.
   * @throws as `endCredentials` does.
   */
  changePassword(
    name: string,
    generation: number,
    secret: string,
    isAllowed: () => boolean,
  ): Promise<Account | undefined>
  /** The accounts that are stored now. @throws as `throwForCaller` does. */
  read(): Promise<Accounts>
  /**
   * Changes one account as `changeAccount` does; resolves once that is durable, and is taken up here.
   *
   * @param what Begins the messages of errors: "Cannot change the account".
   * @param change While it runs, `find` and `list` show what it gets.
   * @throws as `throwForCaller` does, and what `change` throws.
   */
  change(
    what: string,
    kind: AccountKind,
    name: string,
    change: (found: Accounts) => Accounts,
  ): Promise<AccountChange>
  close(): void
}

type FollowedCredentials = Pick<CredentialStorage, 'accounts' | 'initial' | 'addingCommand'>

/** Follows the stored accounts. @param accounts As last read. */
export function followAccounts(
  { accounts: document, initial, addingCommand }: FollowedCredentials,
  accounts: Accounts,
  log: Log,
): LiveAccounts {
  const listeners: (() => void)[] = []
  let current = accounts
  const follower = document.follow({
    content: accounts,
    takeUp(changed) {
      const before = current
      current = changed
      for (const listener of listeners) listener()
      log.info('accounts_reloaded', { users: current.users.length, clients: current.clients.length })
      // A folder from before there were admins needs none: only a start says so, and who took the last.
      if (findMissingAccess(current) !== 'administer' || hasAdmin(before))
        warnOfMissingAccess(current, addingCommand, log)
    },
    log,
  })

  return {
    find: (kind, name) => findAccount(current, kind, name),
    list: (kind) => listOf(current, kind),
    get hasChosenClientSecret() {
      return current.clients.some((client) => !client.secret.startsWith('sha256:'))
    },
    onChange: (listener) => listeners.push(listener),
    catchUp: () => follower.catchUp(),
    async endCredentials(kind, name, generation) {
      const raised = await edit(END_CREDENTIAL, kind, name, generation, (found) =>
        raiseGeneration(found, kind, name),
      )
      return raised !== undefined
    },
    changePassword(name, generation, secret, isAllowed) {
      const change = (found: Accounts) => (isAllowed() ? changeSecret(found, 'user', name, secret) : found)
      return edit(CHANGE_PASSWORD, 'user', name, generation, change, () => forgetInitial('user', name))
    },
    read: () => document.read().catch((error: unknown) => throwForCaller('Cannot read the accounts', error)),
    async change(what, kind, name, change) {
      const decide = async (found: Accounts) => {
        await follower.look()
        return change(found)
      }
      const done = await changeAccount(document, kind, name, decide, forgetInitial).catch((error: unknown) =>
        throwForCaller(what, error),
      )
      await takeUp(what, kind, name, done.after)
      return done
    },
    close: () => follower.close(),
  }

  /**
   * Changes an account if it still has the generation, and takes that up.
   *
   * @param afterwards As for `SharedDocument.edit`.
   * @returns The account as it was written; undefined if it was not.
   */
  async function edit(
    what: string,
    kind: AccountKind,
    name: string,
    generation: number,
    change: (accounts: Accounts) => Accounts,
    afterwards?: () => Promise<void>,
  ): Promise<Account | undefined> {
    // A command may have changed the account since.
    const changeUnlessOver = (found: Accounts) =>
      findAccount(found, kind, name)?.generation === generation ? change(found) : found
    const { before, after } = await document
      .edit(changeUnlessOver, afterwards)
      .catch((error: unknown) => throwForCaller(what, error))
    await takeUp(what, kind, name, after)
    return after === before ? undefined : findAccount(after, kind, name)
  }

  /** Takes up an account as it was read or written. @throws {StorageUnavailableError} if it is still the one from before. */
  async function takeUp(what: string, kind: AccountKind, name: string, stored: Accounts) {
    const known = findAccount(current, kind, name)
    await follower.look()
    const isStale = isDeepStrictEqual(findAccount(current, kind, name), known)
    if (isStale && !isDeepStrictEqual(findAccount(stored, kind, name), known))
      throw new StorageUnavailableError(`${what}: the stored accounts cannot be read`)
  }

  /** The secret there is not good any more, so a failure does no harm but to its reader. */
  async function forgetInitial(kind: AccountKind, name: string) {
    await initial?.forget(kind, name).catch((error: unknown) => {
      log.warn('initial_credentials_not_removed', { file: initial.file, reason: String(error) })
    })
  }
}

/**
 * Makes of an error of the storage what a caller may know: no path and no host.
 *
 * @param what Begins the message: "Cannot change the password".
 */
export function throwForCaller(what: string, error: unknown): never {
  const cause = error
  // They are made for a caller.
  if (error instanceof Problem || error instanceof InvalidInputError) throw error
  if (error instanceof DocumentBusyError)
    throw new OverloadedError(`${what}: a command changes accounts; try again in a moment`)
  if (error instanceof OutcomeUnknownError)
    throw new OutcomeUnknownError(`${what}: nobody can know whether it is done; look, and try again`, {
      cause,
    })
  if (error instanceof StorageFullError)
    throw new StorageFullError(`${what}: no room is left in the storage`, { cause })
  if (error instanceof StorageUnavailableError)
    throw new StorageUnavailableError(`${what}: the storage does not answer`, { cause })
  const code = systemCode(error)
  if (code === undefined) throw error
  if (isNoRoom(code)) throw new StorageFullError(`${what}: no room is left on the disk`, { cause })
  throw new StorageUnavailableError(`${what}: the disk failed`, { cause })
}

/** What nobody can do with these accounts; undefined if some account can do all, or if a first start is still to add one. */
export function findMissingAccess(accounts: Accounts): 'log_in' | 'change' | 'administer' | undefined {
  if (accounts.isPrepared) return undefined
  const all = [...accounts.users, ...accounts.clients]
  if (all.length === 0) return 'log_in'
  if (!all.some((account) => allows(scopeOf(account), 'write'))) return 'change'
  return hasAdmin(accounts) ? undefined : 'administer'
}

/**
 * Logs it when nobody can log in, change records, or manage accounts over HTTP.
 *
 * @param addingCommand As in `CredentialStorage`.
 */
export function warnOfMissingAccess(accounts: Accounts, addingCommand: string, log: Log): void {
  const missing = findMissingAccess(accounts)
  const remedy = `run: ${addingCommand}`
  if (missing === 'log_in') log.warn('nobody_can_log_in', { remedy })
  if (missing === 'change') log.warn('nobody_can_change', { remedy })
  if (missing === 'administer') log.warn('nobody_can_administer', { remedy: `${remedy} --admin` })
}
