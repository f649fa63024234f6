import {
  describeNoRoom,
  InvalidInputError,
  isNoRoom,
  OutcomeUnknownError,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  systemCode,
  TooManyAccountsError,
  TooManyKeysError,
} from '../errors.ts'
import { DocumentBusyError } from '../files/shared-document.ts'
import { Problem } from '../http/problem.ts'
import { allows } from '../http/scope.ts'
import type { Log } from '../log.ts'
import { wordForShell } from '../shell.ts'
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
  withKnownGrants,
} from './accounts.ts'
import type { CredentialStorage } from './credential-storage.ts'

const END_CREDENTIAL = 'Cannot end the credential'
const CHANGE_PASSWORD = 'Cannot change the password'

type FollowedCredentials = Pick<CredentialStorage, 'accounts' | 'initial' | 'commandOf'>

/** The current accounts: each change counts from the moment that it is stored. */
export class LiveAccounts {
  readonly #credentials: FollowedCredentials
  readonly #log: Log
  readonly #listeners: (() => void)[] = []
  #current: Accounts

  /** Follows the stored accounts. @param accounts As last read. */
  constructor(credentials: FollowedCredentials, accounts: Accounts, log: Log) {
    this.#credentials = credentials
    this.#log = log
    this.#current = accounts
    const takeUp = (changed: Accounts) => this.#takeUp(changed)
    credentials.accounts.follow({ content: accounts, takeUp, log })
  }

  #takeUp(changed: Accounts) {
    const before = this.#current
    // Event streams that were opened before and after hold them.
    this.#current = withKnownGrants(changed, before)
    for (const listener of this.#listeners) listener()
    // A folder from before there were admins needs none: only a start says so, and who took the last.
    if (findMissingAccess(changed) !== 'administer' || hasAdmin(before))
      warnOfMissingAccess(changed, this.#credentials.commandOf, this.#log)
  }

  find(kind: AccountKind, name: string): Account | undefined {
    return findAccount(this.#current, kind, name)
  }

  /** All of them. */
  get all(): Accounts {
    return this.#current
  }

  /** In the order in which they were added. */
  list(kind: AccountKind): readonly Account[] {
    return listOf(this.#current, kind)
  }

  /** Whether some client's secret was chosen by a person, and so is slow to check. */
  get hasChosenClientSecret(): boolean {
    return this.#current.clients.some((client) => !client.secret.startsWith('sha256:'))
  }

  /** Calls `listener` after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Ends every session and token of an account: gives it a new generation, unless it has another one already. Resolves
   * once that is durable, and is taken up here.
   *
   * @param generation The one that ends.
   * @returns Whether the generation was raised.
   * @throws {OverloadedError} while other nodes change accounts. {StorageFullError} {StorageUnavailableError}
   * @throws {OutcomeUnknownError}
   */
  async endCredentials(kind: AccountKind, name: string, generation: number): Promise<boolean> {
    const raised = await this.#edit(END_CREDENTIAL, kind, name, generation, (found) =>
      raiseGeneration(found, kind, name),
    )
    return raised !== undefined
  }

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
  ): Promise<Account | undefined> {
    const change = (found: Accounts) => (isAllowed() ? changeSecret(found, 'user', name, secret) : found)
    const afterwards = () => this.#forgetInitial('user', name)
    return this.#edit(CHANGE_PASSWORD, 'user', name, generation, change, afterwards)
  }

  /**
   * Changes an account if it still has the generation.
   *
   * @param afterwards As for `SharedDocument.edit`.
   * @returns The account as it was written; undefined if it was not.
   */
  async #edit(
    what: string,
    kind: AccountKind,
    name: string,
    generation: number,
    change: (accounts: Accounts) => Accounts,
    afterwards?: () => Promise<void>,
  ): Promise<Account | undefined> {
    // Another request, or node, may have changed the account since.
    const changeUnlessOver = (found: Accounts) =>
      findAccount(found, kind, name)?.generation === generation ? change(found) : found
    const { before, after } = await this.#credentials.accounts
      .edit(changeUnlessOver, afterwards)
      .catch((error: unknown) => throwForCaller(what, error))
    return after === before ? undefined : findAccount(after, kind, name)
  }

  /** The accounts that are stored now. @throws as `throwForCaller` does. */
  read(): Promise<Accounts> {
    return this.#credentials.accounts
      .read()
      .catch((error: unknown) => throwForCaller('Cannot read the accounts', error))
  }

  /**
   * Changes one account as `changeAccount` does; resolves once that is durable, and is taken up here.
   *
   * @param what Begins the messages of errors: "Cannot change the account".
   * @param change While it runs, `find` and `list` show what it gets.
   * @throws as `throwForCaller` does, and what `change` throws.
   */
  async change(
    what: string,
    kind: AccountKind,
    name: string,
    change: (found: Accounts) => Accounts,
  ): Promise<AccountChange> {
    const forget = () => this.#forgetInitial(kind, name)
    return changeAccount(this.#credentials.accounts, kind, name, change, forget).catch((error: unknown) =>
      throwForCaller(what, error),
    )
  }

  /** The secret there is not good any more, so a failure does no harm but to its reader. */
  async #forgetInitial(kind: AccountKind, name: string) {
    const { initial } = this.#credentials
    await initial?.forget(kind, name).catch((error: unknown) => {
      this.#log.warn('initial_credentials_not_removed', { file: initial.file, reason: String(error) })
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
  if (
    error instanceof Problem ||
    error instanceof InvalidInputError ||
    error instanceof TooManyAccountsError ||
    error instanceof TooManyKeysError
  )
    throw error
  if (error instanceof DocumentBusyError)
    throw new OverloadedError(`${what}: other nodes change accounts; try again in a moment`)
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
  if (isNoRoom(code)) throw new StorageFullError(`${what}: ${describeNoRoom(code)}`, { cause })
  throw new StorageUnavailableError(`${what}: the disk failed`, { cause })
}

/** What nobody may be able to do. */
export type MissingAccess = 'log_in' | 'change' | 'administer'

/** What nobody can do with these accounts; undefined if some account can do all, or if a first start is still to add one. */
export function findMissingAccess(accounts: Accounts): MissingAccess | undefined {
  if (accounts.isPrepared) return undefined
  const all = [...accounts.users, ...accounts.clients]
  if (all.length === 0) return 'log_in'
  if (!all.some((account) => allows(scopeOf(account), 'write'))) return 'change'
  return hasAdmin(accounts) ? undefined : 'administer'
}

/**
 * The shell command that helps against what nobody can do: of the accounts that are there, it names one that may do a little
 * more afterwards, and otherwise it adds one.
 */
export function remedyFor(
  missing: MissingAccess,
  { users }: Accounts,
  commandOf: CredentialStorage['commandOf'],
): string {
  const isAdmin = missing === 'administer'
  const nearest = users.find((user) => {
    // It would be a flag.
    if (user.name.startsWith('-')) return false
    return !isAdmin || (user.grants === undefined && allows(scopeOf(user), 'write'))
  })
  if (nearest === undefined) return commandOf('user add NAME') + (isAdmin ? ' --admin' : '')
  return `${commandOf(`user set ${wordForShell(nearest.name)}`)} ${isAdmin ? '--admin' : '--read-write'}`
}

const lostAccess: Readonly<Record<MissingAccess, string>> = {
  log_in: 'there is no user and no client any more, so nobody can log in',
  change: 'every account is read-only now, so nobody can change records',
  administer: 'no account is an admin any more, so nobody can manage accounts over HTTP',
}

/** Each leaves less than those before it. */
const byLoss: readonly (MissingAccess | undefined)[] = [undefined, 'administer', 'change', 'log_in']

/**
 * What nobody can do any more after a change, and the command that helps; undefined if it was so before.
 *
 * @param commandOf As in `CredentialStorage`.
 */
export function describeLostAccess(
  before: Accounts,
  after: Accounts,
  commandOf: CredentialStorage['commandOf'],
): string | undefined {
  const missing = findMissingAccess(after)
  if (missing === undefined || byLoss.indexOf(missing) <= byLoss.indexOf(findMissingAccess(before)))
    return undefined
  return `${lostAccess[missing]}; run: ${remedyFor(missing, after, commandOf)}`
}

/**
 * Logs it when nobody can log in, change records, or manage accounts over HTTP.
 *
 * @param commandOf As in `CredentialStorage`.
 */
export function warnOfMissingAccess(
  accounts: Accounts,
  commandOf: CredentialStorage['commandOf'],
  log: Log,
): void {
  const missing = findMissingAccess(accounts)
  if (missing === undefined) return
  const fields = { remedy: `run: ${remedyFor(missing, accounts, commandOf)}` }
  if (missing === 'log_in') log.warn('nobody_can_log_in', fields)
  else if (missing === 'change') log.warn('nobody_can_change', fields)
  else log.warn('nobody_can_administer', fields)
}
