import { type AccountChange, changeAccount } from '../auth/account-changes.ts'
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
  hasAdmin,
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
import { ADMIN_SCOPE, type Scope, WRITE_SCOPE } from '../http/scope.ts'
import {
  getCredentialsToAddTo,
  getReadCredentials,
  getUsedCredentials,
  type UsedCredentials,
} from './used-credentials.ts'

const warnings = {
  log_in: 'there is no user and no client any more, so nobody can log in',
  change: 'every account is read-only now, so nobody can change records',
  administer: 'no account is an admin any more, so nobody can manage accounts over HTTP',
}

/** What an account may do, for people. */
const scopeTexts: Readonly<
  Record<Scope, { readonly adjective: string; readonly cell: string; readonly state: string }>
> = {
  read: { adjective: 'read-only ', cell: 'read-only', state: 'is read-only' },
  'read write': { adjective: '', cell: 'read and write', state: 'can read and change records' },
  'read write admin': {
    adjective: 'admin ',
    cell: 'read, write and manage accounts',
    state: 'can read and change records, and manage accounts',
  },
}

const SECRET_LOST = ': the secret is lost; rotate it again'

// These work whether or not a server runs on the folder. After an {OutputError} the change is complete; after an error
// of the disk it may be; after any other error nothing has changed.

/** Runs `user add` or `client add`. @throws {AccountExistsError} {UsageError} {FolderRefusedError} */
export async function addNamed(
  kind: AccountKind,
  input: CommandInput<PlaceFlag | 'readOnly' | 'admin' | 'ifMissing' | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  const {
    options,
    operands: [name = ''],
  } = input
  if (options.readOnly && options.admin) throw new UsageError('Give --read-only or --admin, not both')
  const scope = scopeAsked(options) ?? WRITE_SCOPE
  using credentials = await getCredentialsToAddTo(options)
  const { accounts, place, prepare } = credentials
  checkAccountName(kind, name)
  try {
    // Checked before asking for a password; addAccount checks again, under the lock.
    if (prepare === undefined && findAccount(await accounts.read(), kind, name) !== undefined)
      throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${place}": there is one already`)
    const secret = await newSecret(kind, name, options.secretStdin, context)
    await prepare?.(context)
    const change = (found: Accounts) => addAccount(found, kind, name, secret.stored, scope)
    await changeStored(credentials, kind, name, 'add', change, context)
    const what = `${scopeTexts[scope].adjective}${kind}`
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
  await getKnown(credentials, kind, name)
  const secret = await newSecret(kind, name, options.secretStdin, context)
  const change = (found: Accounts) => changeSecret(found, kind, name, secret.stored)
  await changeStored(credentials, kind, name, kind === 'user' ? 'passwd' : 'rotate', change, context)
  const [what, ended] = kind === 'user' ? ['password', 'session'] : ['secret', 'token']
  const lines = [
    `Changed the ${what} of ${kind} "${name}" in ${credentials.place}`,
    `Every ${ended} of this ${kind} has ended`,
    ...secret.shown,
  ]
  await showDone(lines, context, secret)
}

/** Runs `user set` or `client set`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function setScope(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'readOnly' | 'readWrite' | 'admin'>,
  context: CommandContext,
): Promise<void> {
  const scope = scopeAsked(options)
  if (scope === undefined) {
    const line = `connbook ${kind} set ${kind === 'user' ? 'NAME' : 'ID'}`
    throw new UsageError(`Write it as: ${line} --read-only, or: ${line} --read-write, or: ${line} --admin`)
  }
  using credentials = await getUsedCredentials(options)
  await getKnown(credentials, kind, name)
  const change = (found: Accounts) => changeScope(found, kind, name, scope)
  const { before, after } = await changeStored(credentials, kind, name, 'set', change, context)
  const { state } = scopeTexts[scope]
  const since = after === before ? 'already; nothing has changed' : 'from now on'
  const who = `${kind === 'user' ? 'User' : 'Client'} "${name}" in ${credentials.place}`
  await showDone([`${who} ${state} ${since}`], context)
  if (after !== before) warnOfLastAccount(credentials, before, after, context)
}

/** The scope that the one flag names; undefined without a flag, and for several. */
function scopeAsked(options: {
  readonly readOnly: boolean
  readonly readWrite?: boolean
  readonly admin: boolean
}): Scope | undefined {
  const [scope, ...others] = [
    ...(options.readOnly ? (['read'] as const) : []),
    ...(options.readWrite ? [WRITE_SCOPE] : []),
    ...(options.admin ? [ADMIN_SCOPE] : []),
  ]
  return others.length === 0 ? scope : undefined
}

/** Runs `user remove` or `client remove`. @throws {UnknownAccountError} {FolderRefusedError} */
export async function removeNamed(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<PlaceFlag | 'ifPresent'>,
  context: CommandContext,
): Promise<void> {
  using credentials = await getUsedCredentials(options)
  const { place } = credentials
  try {
    await getKnown(credentials, kind, name)
    const change = (found: Accounts) => removeAccount(found, kind, name)
    const { before, after } = await changeStored(credentials, kind, name, 'remove', change, context)
    await showDone([`Removed ${kind} "${name}" from ${place}`], context)
    warnOfLastAccount(credentials, before, after, context)
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
  const rows = accounts.map((account) => [account.name, scopeTexts[scopeOf(account)].cell])
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
  const { adjective } = scopeTexts[scopeOf(account)]
  return adjective === '' ? account.name : `${account.name}\t${adjective.trim()}`
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

/** Changes an account as `changeAccount` does, and lists it. @param verb The second word of the command. */
async function changeStored(
  { accounts, initial, folder }: UsedCredentials,
  kind: AccountKind,
  name: string,
  verb: string,
  change: (found: Accounts) => Accounts,
  context: CommandContext,
): Promise<AccountChange> {
  const done = await changeAccount(accounts, kind, name, change, initial?.forget)
  for (const { event, fields } of done.lines)
    await recordCommand(context, folder, event, `${kind} ${verb}`, fields)
  return done
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

/** Warns on standard error when a command has taken the last account that can log in, change records or manage accounts. */
function warnOfLastAccount(
  { addingCommand }: CredentialStorage,
  before: Accounts,
  after: Accounts,
  { screen }: CommandContext,
): void {
  const missing = findMissingAccess(after)
  // A folder of an older connbook has had no admin before either.
  if (missing === undefined || (missing === 'administer' && !hasAdmin(before))) return
  const flag = missing === 'administer' ? ' --admin' : ''
  screen.write(`connbook: Warning: ${warnings[missing]}; add an account: ${addingCommand}${flag}\n`)
}
