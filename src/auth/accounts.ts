import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ConnbookError, DamagedFileError, InvalidInputError, RESTORE_ADVICE } from '../errors.ts'
import { sweepTemporaryFiles } from '../files/atomic-file.ts'
import { checkNotRestoring, type DataPaths, dataFiles, takeLock } from '../files/data-folder.ts'
import type { FileLock } from '../files/file-lock.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { createJsonDocument, type JsonDocument } from '../files/json-document.ts'
import type { Principal } from '../http/message.ts'
import { FULL_SCOPE, isScope, type Scope } from '../http/scope.ts'
import { checkMembers, isObject } from '../json.ts'
import {
  ACCOUNT_NAME_CHARACTERS_MAX,
  CREDENTIALS_LOCK_PAUSE_MS,
  CREDENTIALS_LOCK_WAIT_MS,
} from '../limits.ts'
import { checkText } from '../text.ts'
import { isPasswordHash } from './password.ts'

/** Users log in with a name and a password, clients get tokens for an id and a secret. */
export type AccountKind = Principal['kind']

export interface Account {
  /** Name of a user, id of a client. */
  readonly name: string
  /** `hashPassword` of a chosen secret, or `digestSecret` of a generated one. */
  readonly secret: string
  /** Rises when the secret changes; credentials of other generations have ended. */
  readonly generation: number
  /** Absent for a read-write account, as in files that are older than scopes. */
  readonly scope?: Scope
}

/** Everything in the accounts file. */
export interface Accounts {
  /** The highest generation ever given, so that an account made anew does not bring old credentials back. */
  readonly lastGeneration: number
  readonly users: readonly Account[]
  readonly clients: readonly Account[]
}

export class AccountExistsError extends ConnbookError {
  readonly code = 'account_exists'
}

export class UnknownAccountError extends ConnbookError {
  readonly code = 'unknown_account'
}

export const noAccounts: Accounts = { lastGeneration: 0, users: [], clients: [] }

const ADVICE = `put it back from a copy of the folder, or ${RESTORE_ADVICE}`

/** The file in which a folder keeps its accounts. */
export function accountsDocument(folder: string, files: FileSystem = realFileSystem): JsonDocument<Accounts> {
  const path = join(folder, dataFiles.accounts)
  return createJsonDocument(path, 'connbook accounts', parseAccounts, ADVICE, files)
}

/** Where there are records there have been accounts. */
export function accountsMissing(folder: DataPaths): DamagedFileError {
  return new DamagedFileError(folder.file(dataFiles.accounts), 0, 'the file is missing', ADVICE)
}

/** What only the holder of the accounts lock writes. */
const lockedFiles = [dataFiles.accounts, dataFiles.initialCredentials, dataFiles.keys]

/**
 * Runs an action while no other process changes accounts or keys; a running server reads them all the same.
 *
 * @throws {ConnbookError} if another process does not finish within CREDENTIALS_LOCK_WAIT_MS.
 * @throws {FolderRefusedError} if the folder cannot be written, its lock file is none, or a restore is not complete.
 */
export async function withCredentialsLock<T>(
  folder: string,
  action: () => Promise<T>,
  files: FileSystem = realFileSystem,
): Promise<T> {
  const lock = await waitForLock(folder, files)
  try {
    await checkNotRestoring(folder, files)
    await sweepTemporaryFiles(folder, lockedFiles, files)
    return await action()
  } finally {
    lock.release()
  }
}

async function waitForLock(folder: string, files: FileSystem): Promise<FileLock> {
  const end = performance.now() + CREDENTIALS_LOCK_WAIT_MS
  do {
    const lock = await takeLock(folder, dataFiles.accountsLock, files)
    if (lock !== undefined) return lock
    await setTimeout(CREDENTIALS_LOCK_PAUSE_MS)
  } while (performance.now() < end)
  throw new AccountsBusyError(`Cannot change accounts or keys in "${folder}": another command is doing so`)
}

class AccountsBusyError extends ConnbookError {
  readonly code = 'accounts_busy'
}

export function findAccount(accounts: Accounts, kind: AccountKind, name: string): Account | undefined {
  return listOf(accounts, kind).find((account) => account.name === name)
}

export function scopeOf(account: Account): Scope {
  return account.scope ?? FULL_SCOPE
}

/** @throws {AccountExistsError} */
export function addAccount(
  accounts: Accounts,
  kind: AccountKind,
  name: string,
  secret: string,
  scope: Scope = FULL_SCOPE,
): Accounts {
  if (findAccount(accounts, kind, name) !== undefined)
    throw new AccountExistsError(`Cannot add ${kind} "${name}": there is one already`)
  return put(accounts, kind, scope === FULL_SCOPE ? { name, secret } : { name, secret, scope })
}

/**
 * Changes the secret and nothing else, and so ends every session and token of the account.
 *
 * @throws {UnknownAccountError}
 */
export function changeSecret(accounts: Accounts, kind: AccountKind, name: string, secret: string): Accounts {
  const account = getAccount(accounts, kind, name)
  return put(removeAccount(accounts, kind, name), kind, { ...account, secret })
}

/**
 * Removes an account and so ends every session and token of it.
 *
 * @throws {UnknownAccountError}
 */
export function removeAccount(accounts: Accounts, kind: AccountKind, name: string): Accounts {
  getAccount(accounts, kind, name)
  const rest = listOf(accounts, kind).filter((account) => account.name !== name)
  return withList(accounts, kind, rest)
}

function getAccount(accounts: Accounts, kind: AccountKind, name: string): Account {
  const account = findAccount(accounts, kind, name)
  if (account === undefined) throw new UnknownAccountError(`There is no ${kind} "${name}"`)
  return account
}

export function listOf(accounts: Accounts, kind: AccountKind): readonly Account[] {
  return kind === 'user' ? accounts.users : accounts.clients
}

/** @throws {InvalidInputError} when a name cannot be one: `checkText` finds fault with it, or an id holds a `:`. */
export function checkAccountName(kind: AccountKind, name: string): void {
  const fault = checkText(name, ACCOUNT_NAME_CHARACTERS_MAX)
  if (fault !== undefined) throw new InvalidInputError(`Cannot name a ${kind} "${name}": it ${fault}`)
  if (kind === 'client' && name.includes(':')) {
    throw new InvalidInputError(
      `Cannot name a client "${name}": HTTP Basic authentication has no way to send a ":" in it`,
    )
  }
}

function put(accounts: Accounts, kind: AccountKind, account: Omit<Account, 'generation'>): Accounts {
  const generation = accounts.lastGeneration + 1
  const list = [...listOf(accounts, kind), { ...account, generation }]
  return { ...withList(accounts, kind, list), lastGeneration: generation }
}

function withList(accounts: Accounts, kind: AccountKind, list: readonly Account[]): Accounts {
  return kind === 'user' ? { ...accounts, users: list } : { ...accounts, clients: list }
}

/** @throws {SyntaxError} when it is not what an accounts file holds. */
export function parseAccounts(input: unknown): Accounts {
  if (!isObject(input) || typeof input.lastGeneration !== 'number')
    throw new SyntaxError('it holds no accounts')
  const { lastGeneration, users, clients, ...others } = input
  checkMembers(others, [], 'the accounts')
  return { lastGeneration, users: parseList(users), clients: parseList(clients) }
}

function parseList(input: unknown): Account[] {
  if (!Array.isArray(input)) throw new SyntaxError('it holds no list of accounts')
  return input.map((entry: unknown) => {
    if (!isObject(entry)) throw new SyntaxError('it holds something that is no account')
    const { name, secret, generation, scope, ...others } = entry
    checkMembers(others, [], 'an account')
    if (typeof name !== 'string' || typeof secret !== 'string' || typeof generation !== 'number')
      throw new SyntaxError('it holds an account that is not complete')
    if (!secret.startsWith('sha256:') && !isPasswordHash(secret)) {
      throw new SyntaxError(`the secret of "${name}" is stored in an unknown way`)
    }
    if (scope === undefined) return { name, secret, generation }
    // Never read-write by mistake.
    if (!isScope(scope)) throw new SyntaxError(`the scope of "${name}" is unknown`)
    return { name, secret, generation, scope }
  })
}
