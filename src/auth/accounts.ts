import { ConnbookError, InvalidInputError, TooManyAccountsError } from '../errors.ts'
import { type AccountPrincipal, areSameGrants } from '../http/message.ts'
import { ADMIN_SCOPE, type Scope, WRITE_SCOPE } from '../http/scope.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from '../limits.ts'
import { checkText } from '../text.ts'

/**
 * Bytes of all accounts as JSON: each change of one reads, checks and writes all of them, and nobody is served meanwhile.
 * Older folders may have more; then none may become longer.
 */
export const ACCOUNTS_BYTES_MAX = 2 * 1024 * 1024

/** A user logs in with name and password; a client gets tokens for id and secret. */
export type AccountKind = AccountPrincipal['kind']

export interface Account {
  /** User name or client id. */
  readonly name: string
  /** `hashPassword` of a chosen secret, or `digestSecret` of a generated one. */
  readonly secret: string
  /** Rises when the secret changes, which ends every session and token: those of other generations are invalid. */
  readonly generation: number
  /** Absent for WRITE_SCOPE, as in files from before scopes. */
  readonly scope?: Scope
  /** As `parseGrants` gives them; absent for an account that sees and may change all records. */
  readonly grants?: readonly string[]
}

/** Content of the accounts file. */
export interface Accounts {
  /** Highest generation ever given: an account added again must not revive its old credentials. */
  readonly lastGeneration: number
  readonly users: readonly Account[]
  readonly clients: readonly Account[]
  /** A command made the folder, and no server has started on it: the first start adds the accounts that are missing. */
  readonly isPrepared?: true
}

export class AccountExistsError extends ConnbookError {
  readonly code = 'account_exists'
}

export class UnknownAccountError extends ConnbookError {
  readonly code = 'unknown_account'
}

export const noAccounts: Accounts = { lastGeneration: 0, users: [], clients: [] }

export function findAccount(accounts: Accounts, kind: AccountKind, name: string): Account | undefined {
  return listOf(accounts, kind).find((account) => account.name === name)
}

export function scopeOf(account: Account): Scope {
  return account.scope ?? WRITE_SCOPE
}

/**
 * @param grants As `parseGrants` gives them.
 * @throws {AccountExistsError} {TooManyAccountsError} @throws as `checkLimits` does.
 */
export function addAccount(
  accounts: Accounts,
  kind: AccountKind,
  name: string,
  secret: string,
  scope: Scope = WRITE_SCOPE,
  grants?: readonly string[],
): Accounts {
  if (findAccount(accounts, kind, name) !== undefined)
    throw new AccountExistsError(`Cannot add ${kind} "${name}": there is one already`)
  checkLimits(scope, grants)
  const added = put(accounts, kind, {
    ...{ name, secret },
    ...(scope === WRITE_SCOPE ? {} : { scope }),
    ...(grants === undefined ? {} : { grants }),
  })
  checkSize(accounts, added, `Cannot add the ${kind} "${name}"`)
  return added
}

/** @throws {UnknownAccountError} */
export function changeSecret(accounts: Accounts, kind: AccountKind, name: string, secret: string): Accounts {
  const account = getAccount(accounts, kind, name)
  return put(removeAccount(accounts, kind, name), kind, { ...account, secret })
}

/** What to change of the rights of an account; what is absent stays. */
export interface RightsPatch {
  readonly scope?: Scope | undefined
  /** As `parseGrants` gives them; null for all records. */
  readonly grants?: readonly string[] | null | undefined
}

/**
 * Changes what an account may do. Keeps the generation, so sessions and tokens go on. The same object if it may do that
 * already.
 *
 * @throws {UnknownAccountError} {TooManyAccountsError} @throws as `checkLimits` does.
 */
export function changeRights(
  accounts: Accounts,
  kind: AccountKind,
  name: string,
  { scope, grants }: RightsPatch,
): Accounts {
  const found = getAccount(accounts, kind, name)
  const newScope = scope ?? scopeOf(found)
  const newGrants = grants === undefined ? found.grants : (grants ?? undefined)
  if (newScope === scopeOf(found) && areSameGrants(newGrants, found.grants)) return accounts
  checkLimits(newScope, newGrants)
  const { scope: _, grants: __, ...others } = found
  const changed = {
    ...others,
    ...(newScope === WRITE_SCOPE ? {} : { scope: newScope }),
    ...(newGrants === undefined ? {} : { grants: newGrants }),
  }
  const list = listOf(accounts, kind).map((account) => (account === found ? changed : account))
  const after = withList(accounts, kind, list)
  checkSize(accounts, after, `Cannot change the ${kind} "${name}"`)
  return after
}

/** As `changeRights`, for the scope alone. */
export function changeScope(accounts: Accounts, kind: AccountKind, name: string, scope: Scope): Accounts {
  return changeRights(accounts, kind, name, { scope })
}

/** The same accounts; grants that an account had before are the very same object, so that what is known of it stays. */
export function withKnownGrants(accounts: Accounts, before: Accounts): Accounts {
  const known = (list: readonly Account[], kind: AccountKind) => {
    const byName = new Map(listOf(before, kind).map((account) => [account.name, account.grants]))
    return list.map((account) => {
      const grants = byName.get(account.name)
      return grants !== undefined && areSameGrants(grants, account.grants) ? { ...account, grants } : account
    })
  }
  return { ...accounts, users: known(accounts.users, 'user'), clients: known(accounts.clients, 'client') }
}

/** @throws {InvalidInputError} for an admin with grants, who could lift them. */
function checkLimits(scope: Scope, grants: readonly string[] | undefined): void {
  if (scope !== ADMIN_SCOPE || grants === undefined) return
  throw new InvalidInputError('An admin cannot have grants, because an admin can lift every limit', [
    { field: 'grants', detail: 'must not be there for an admin, who can lift every limit' },
  ])
}

/** @param what Begins the message. @throws {TooManyAccountsError} if the accounts become longer, and too long. */
function checkSize(before: Accounts, after: Accounts, what: string): void {
  const bytes = bytesOf(after)
  if (bytes <= ACCOUNTS_BYTES_MAX || bytes <= bytesOf(before)) return
  throw new TooManyAccountsError(
    `${what}: all accounts with their grants would take ${bytes} bytes, more than ${ACCOUNTS_BYTES_MAX}; nothing has changed; remove accounts, or give them shorter grants`,
  )
}

function bytesOf({ users, clients }: Accounts): number {
  return Buffer.byteLength(JSON.stringify([users, clients]))
}

/** @throws {UnknownAccountError} */
export function removeAccount(accounts: Accounts, kind: AccountKind, name: string): Accounts {
  getAccount(accounts, kind, name)
  const rest = listOf(accounts, kind).filter((account) => account.name !== name)
  return withList(accounts, kind, rest)
}

/** Ends every session and token of an account; its secret stays. @throws {UnknownAccountError} */
export function raiseGeneration(accounts: Accounts, kind: AccountKind, name: string): Accounts {
  const raised = { ...getAccount(accounts, kind, name), generation: accounts.lastGeneration + 1 }
  const list = listOf(accounts, kind).map((account) => (account.name === name ? raised : account))
  return { ...withList(accounts, kind, list), lastGeneration: raised.generation }
}

/** Whether some account may manage accounts. */
export function hasAdmin({ users, clients }: Pick<Accounts, 'users' | 'clients'>): boolean {
  return [...users, ...clients].some((account) => scopeOf(account) === ADMIN_SCOPE)
}

/** @throws {UnknownAccountError} */
export function getAccount(accounts: Accounts, kind: AccountKind, name: string): Account {
  const account = findAccount(accounts, kind, name)
  if (account === undefined) throw new UnknownAccountError(`There is no ${kind} "${name}"`)
  return account
}

export function listOf(accounts: Accounts, kind: AccountKind): readonly Account[] {
  return kind === 'user' ? accounts.users : accounts.clients
}

/** @throws {InvalidInputError} as `faultOfName` says. */
export function checkAccountName(kind: AccountKind, name: string): void {
  const fault = faultOfName(kind, name)
  if (fault !== undefined) throw new InvalidInputError(`Cannot name a ${kind} "${name}": it ${fault}`)
}

/** What is wrong with the name of an account; undefined if nothing is. @returns The end of a sentence that begins with "it". */
export function faultOfName(kind: AccountKind, name: unknown): string | undefined {
  const fault = checkText(name, ACCOUNT_NAME_CHARACTERS_MAX)
  if (fault !== undefined) return fault
  const hasColon = kind === 'client' && String(name).includes(':')
  return hasColon ? 'must not hold a ":", which HTTP Basic authentication cannot send' : undefined
}

function put(accounts: Accounts, kind: AccountKind, account: Omit<Account, 'generation'>): Accounts {
  const generation = accounts.lastGeneration + 1
  const list = [...listOf(accounts, kind), { ...account, generation }]
  return { ...withList(accounts, kind, list), lastGeneration: generation }
}

function withList(accounts: Accounts, kind: AccountKind, list: readonly Account[]): Accounts {
  return kind === 'user' ? { ...accounts, users: list } : { ...accounts, clients: list }
}
