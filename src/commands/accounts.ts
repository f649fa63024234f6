import {
  type Account,
  AccountExistsError,
  type AccountKind,
  type Accounts,
  addAccount,
  changeScope,
  changeSecret,
  checkAccountName,
  findAccount,
  listOf,
  removeAccount,
  scopeOf,
  UnknownAccountError,
} from '../auth/accounts.ts'
import type { CredentialStorage } from '../auth/credential-storage.ts'
import { findMissingAccess } from '../auth/live-accounts.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, faultOfChosen, generateSecret } from '../auth/secret.ts'
import { alignColumns } from '../command-line/columns.ts'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { PlaceFlag } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import { readPassword } from '../command-line/terminal.ts'
import type { TerminalStyle } from '../command-line/terminal-style.ts'
import { UsageError } from '../errors.ts'
import { recordCommand } from '../folder/command-audit.ts'
import { FULL_SCOPE } from '../http/scope.ts'
import {
  getCredentialsToAddTo,
  getReadCredentials,
  getUsedCredentials,
  type UsedCredentials,
} from './used-credentials.ts'

const warnings = {
  log_in: 'there is no user and no client any more, so nobody can log in',
  change: 'every account is read-only now, so nobody can change records',
}

const SECRET_LOST = ': the secret is lost; rotate it again'

// These work whether or not a server runs on the folder. After an {OutputError} the change is complete; after an error
// of the disk it may be; after any other error nothing has changed.

/** Runs `user add` or `client add`. @throws {AccountExistsError} {UsageError} {FolderRefusedError} */
export async function addNamed(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'readOnly' | 'ifMissing' | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  using credentials = await getCredentialsToAddTo(options)
  const { accounts, place, folder, prepare } = credentials
  checkAccountName(kind, name)
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  try {
    // Checked before asking for a password; addAccount checks again, under the lock.
    if (prepare === undefined && findAccount(await accounts.read(), kind, name) !== undefined)
      throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${place}": there is one already`)
    const secret = await newSecret(kind, name, options.secretStdin, context)
    await prepare?.(context)
    await accounts.edit((found) => addAccount(found, kind, name, secret.stored, scope))
    await recordCommand(context, folder, `${kind}_added`, `${kind} add`, { account: name, scope })
    const what = scope === FULL_SCOPE ? kind : `read-only ${kind}`
    await showDone([`Added ${what} "${name}" in ${place}`, ...secret.shown], context, secret)
  } catch (error) {
    if (!(error instanceof AccountExistsError) || !options.ifMissing) throw error
    await showDone([`There is ${kind} "${name}" in ${place} already; nothing has changed`], context)
  }
}

/** Runs `user passwd` or `client rotate`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function replaceSecret(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  using credentials = await getUsedCredentials(options)
  const { place, folder } = credentials
  await getKnown(credentials, kind, name)
  const secret = await newSecret(kind, name, options.secretStdin, context)
  await endSecret(credentials, kind, name, (found) => changeSecret(found, kind, name, secret.stored))
  if (kind === 'user')
    await recordCommand(context, folder, 'user_password_changed', 'user passwd', { account: name })
  else await recordCommand(context, folder, 'client_rotated', 'client rotate', { account: name })
  const [what, ended] = kind === 'user' ? ['password', 'session'] : ['secret', 'token']
  const lines = [
    `Changed the ${what} of ${kind} "${name}" in ${place}`,
    `Every ${ended} of this ${kind} has ended`,
    ...secret.shown,
  ]
  await showDone(lines, context, secret)
}

/** Runs `user set` or `client set`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function setScope(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'readOnly' | 'readWrite'>,
  context: CommandContext,
): Promise<void> {
  if (options.readOnly === options.readWrite) {
    const line = `connbook ${kind} set ${kind === 'user' ? 'NAME' : 'ID'}`
    throw new UsageError(`Write it as: ${line} --read-only, or: ${line} --read-write`)
  }
  using credentials = await getUsedCredentials(options)
  const { accounts, place, folder } = credentials
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  const isSame = scopeOf(await getKnown(credentials, kind, name)) === scope
  if (!isSame) {
    await accounts.edit((found) => changeScope(found, kind, name, scope))
    await recordCommand(context, folder, `${kind}_changed`, `${kind} set`, { account: name, scope })
  }
  const state = scope === FULL_SCOPE ? 'can read and change records' : 'is read-only'
  const since = isSame ? 'already; nothing has changed' : 'from now on'
  await showDone([`${kind === 'user' ? 'User' : 'Client'} "${name}" in ${place} ${state} ${since}`], context)
  if (!isSame) await warnOfLastAccount(credentials, context)
}

/** Runs `user remove` or `client remove`. @throws {UnknownAccountError} {FolderRefusedError} */
export async function removeNamed(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'ifPresent'>,
  context: CommandContext,
): Promise<void> {
  using credentials = await getUsedCredentials(options)
  const { place, folder } = credentials
  try {
    await getKnown(credentials, kind, name)
    await endSecret(credentials, kind, name, (found) => removeAccount(found, kind, name))
    await recordCommand(context, folder, `${kind}_removed`, `${kind} remove`, { account: name })
    await showDone([`Removed ${kind} "${name}" from ${place}`], context)
    await warnOfLastAccount(credentials, context)
  } catch (error) {
    if (!(error instanceof UnknownAccountError) || !options.ifPresent) throw error
    await showDone([`There is no ${kind} "${name}" in ${place}; nothing has changed`], context)
  }
}

/** Runs `user list` or `client list`. @throws {FolderRefusedError} */
export async function listNames(
  kind: AccountKind,
  { options }: CommandInput<PlaceFlag>,
  { print, style }: CommandContext,
): Promise<void> {
  using credentials = await getReadCredentials(options)
  const listed = listOf(await credentials.accounts.read(), kind)
  await shown(print(linesOf(listed, kind, style).map(asLine).join('')), `show the ${kind}s`)
}

function linesOf(accounts: readonly Account[], kind: AccountKind, style: TerminalStyle): string[] {
  if (!style.isTerminal) return accounts.map(describe)
  const rows = accounts.map((account) => [account.name, isReadOnly(account) ? 'read-only' : 'read and write'])
  return alignColumns([kind === 'user' ? 'USER' : 'CLIENT', 'MAY'], rows, style)
}

/** @param secret Whose lines are among these; they may be the only place where it is known. */
async function showDone(lines: readonly string[], { print }: CommandContext, secret?: NewSecret) {
  const state = secret?.isGenerated ? SECRET_LOST : ''
  await shown(print(lines.map(asLine).join('')), 'show what was done', state)
}

function asLine(text: string): string {
  return `${text}\n`
}

/** Names hold no tab, so a script can split the line there. */
function describe(account: Account): string {
  return isReadOnly(account) ? `${account.name}\tread-only` : account.name
}

function isReadOnly(account: Account): boolean {
  return scopeOf(account) !== FULL_SCOPE
}

/** @throws {UnknownAccountError} naming the place. */
async function getKnown(
  { accounts, place }: UsedCredentials,
  kind: AccountKind,
  name: string,
): Promise<Account> {
  const account = findAccount(await accounts.read(), kind, name)
  if (account !== undefined) return account
  throw new UnknownAccountError(`There is no ${kind} "${name}" in "${place}"`)
}

/** Changes the secret of an account, or removes it; then its initial credentials are forgotten. */
async function endSecret(
  { accounts, initial }: UsedCredentials,
  kind: AccountKind,
  name: string,
  change: (found: Accounts) => Accounts,
) {
  await accounts.edit(change, async () => initial?.forget(kind, name))
}

interface NewSecret {
  /** For the accounts file. */
  readonly stored: string
  /** Lines for standard output. */
  readonly shown: readonly string[]
  /** Whether those lines have a secret that nobody knows yet. */
  readonly isGenerated: boolean
}

/**
 * Reads a user's password, or a client's secret if it is chosen; otherwise generates the secret, which is shown only now.
 *
 * @throws {UsageError} for what `readPassword` refuses, and for what is easy to guess.
 */
async function newSecret(
  kind: AccountKind,
  name: string,
  isChosen: boolean,
  context: CommandContext,
): Promise<NewSecret> {
  if (kind === 'user') {
    const password = await readPassword('password', `Password for "${name}"`, context)
    checkChosen(kind, password, name)
    return { stored: await hashPassword(password), shown: [], isGenerated: false }
  }
  const id = `client_id: ${name}`
  if (isChosen) {
    const secret = await readPassword('secret', `Secret of "${name}"`, context)
    checkChosen(kind, secret, name)
    return { stored: await hashPassword(secret), shown: [id], isGenerated: false }
  }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [id, `client_secret: ${secret}`], isGenerated: true }
}

function checkChosen(kind: AccountKind, secret: string, name: string): void {
  const fault = faultOfChosen(kind, secret, name)
  const what = kind === 'user' ? 'password' : 'secret'
  if (fault !== undefined) throw new UsageError(`Cannot use the ${what}: it ${fault}`)
}

/** Warns on standard error when a command has taken the last account that can log in, or change records. */
async function warnOfLastAccount(
  { accounts, addingCommand }: CredentialStorage,
  { screen }: CommandContext,
): Promise<void> {
  const missing = findMissingAccess(await accounts.read())
  if (missing === undefined) return
  screen.write(`connbook: Warning: ${warnings[missing]}; add an account: ${addingCommand}\n`)
}
