import { type AccountChange, changeAccount } from '../auth/account-changes.ts'
import {
  AccountExistsError,
  type Accounts,
  addAccount,
  changeRights,
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
import { findMissingAccess, remedyFor } from '../auth/live-accounts.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { PlaceFlag } from '../command-line/options.ts'
import { scopeFor, widestOf } from '../http/scope.ts'
import { recordCommand } from '../state/command-audit.ts'
import {
  type AddFlag,
  clientLines,
  describeRights,
  kindWords,
  type NamedAccount,
  readChosen,
  rightsToAdd,
  rightsToSet,
  type SetFlag,
  scopeTexts,
  showAccounts,
  showLines,
} from './account-words.ts'
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

// These work whether or not a server runs on the folder. After an {OutputError} the change is complete; after an error
// of the disk it may be; after any other error nothing has changed.

/** Runs `user add` or `client add`. @throws {AccountExistsError} {UsageError} {FolderRefusedError} */
export async function addNamed(
  account: NamedAccount,
  input: CommandInput<PlaceFlag | AddFlag>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  const { options } = input
  const { scope, grants } = rightsToAdd(options)
  using credentials = await getCredentialsToAddTo(input)
  const { accounts, place, prepare } = credentials
  checkAccountName(kind, name)
  try {
    // Checked before asking for a password; addAccount checks again, under the lock.
    if (prepare === undefined && findAccount(await accounts.read(), kind, name) !== undefined)
      throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${place}": there is one already`)
    const secret = await newSecret(account, options.secretStdin, context)
    await prepare?.(context)
    const change = (found: Accounts) => addAccount(found, kind, name, secret.stored, scopeFor(scope), grants)
    const { show } = await changeStored(credentials, account, 'add', change, context)
    const what = `${scopeTexts[scope].adjective}${kind}`
    await show([`Added ${what} "${name}" in ${place}`, ...secret.shown], secret.isGenerated)
  } catch (error) {
    if (!(error instanceof AccountExistsError) || !options.ifMissing) throw error
    await showLines([`There is ${kind} "${name}" in ${place} already; nothing has changed`], context)
  }
}

/** Runs `user passwd` or `client rotate`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function replaceSecret(
  account: NamedAccount,
  input: CommandInput<PlaceFlag | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  const { replace, secret: what, ended } = kindWords[kind]
  using credentials = await getUsedCredentials(input)
  await checkKnown(credentials, account)
  const secret = await newSecret(account, input.options.secretStdin, context)
  const change = (found: Accounts) => changeSecret(found, kind, name, secret.stored)
  const { show } = await changeStored(credentials, account, replace, change, context)
  const lines = [
    `Changed the ${what} of ${kind} "${name}" in ${credentials.place}`,
    `Every ${ended} of this ${kind} has ended`,
    ...secret.shown,
  ]
  await show(lines, secret.isGenerated)
}

/** Runs `user set` or `client set`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function setRights(
  account: NamedAccount,
  input: CommandInput<PlaceFlag | SetFlag>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  const asked = rightsToSet(kind, input.options)
  using credentials = await getUsedCredentials(input)
  await checkKnown(credentials, account)
  const rights = { ...asked, scope: asked.scope && scopeFor(asked.scope) }
  const change = (found: Accounts) => changeRights(found, kind, name, rights)
  const { before, after, show } = await changeStored(credentials, account, 'set', change, context)
  const since = after === before ? 'already; nothing has changed' : 'from now on'
  const who = `${kindWords[kind].title} "${name}" in ${credentials.place}`
  await show([`${who} ${describeRights(asked)} ${since}`])
  if (after !== before) warnOfLastAccount(credentials, before, after, context)
}

/** Runs `user remove` or `client remove`. @throws {UnknownAccountError} {FolderRefusedError} */
export async function removeNamed(
  account: NamedAccount,
  input: CommandInput<PlaceFlag | 'ifPresent'>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  using credentials = await getUsedCredentials(input)
  const { place } = credentials
  try {
    await checkKnown(credentials, account)
    const change = (found: Accounts) => removeAccount(found, kind, name)
    const { before, after, show } = await changeStored(credentials, account, 'remove', change, context)
    await show([`Removed ${kind} "${name}" from ${place}`])
    warnOfLastAccount(credentials, before, after, context)
  } catch (error) {
    if (!(error instanceof UnknownAccountError) || !input.options.ifPresent) throw error
    await showLines([`There is no ${kind} "${name}" in ${place}; nothing has changed`], context)
  }
}

/** Runs `user list` or `client list`. @throws {FolderRefusedError} */
export async function listNames(
  { kind }: Pick<NamedAccount, 'kind'>,
  input: CommandInput<PlaceFlag>,
  context: CommandContext,
): Promise<void> {
  using credentials = await getReadCredentials(input)
  const listed = listOf(await credentials.accounts.read(), kind).map((account) => {
    const { name, grants } = account
    return { name, scope: widestOf(scopeOf(account)), grants }
  })
  await showAccounts(listed, kind, context)
}

/** @throws {UnknownAccountError} naming the place. */
async function checkKnown({ accounts, place }: UsedCredentials, { kind, name }: NamedAccount): Promise<void> {
  if (findAccount(await accounts.read(), kind, name) === undefined)
    throw new UnknownAccountError(`There is no ${kind} "${name}" in "${place}"`)
}

interface StoredChange extends AccountChange {
  /** Shows what was done, and has a running server know it; in this order, because only the lines may have a made secret. */
  readonly show: (lines: readonly string[], hasMadeSecret?: boolean) => Promise<void>
}

/** Changes an account as `changeAccount` does, and lists it. @param verb The second word of the command. */
async function changeStored(
  { accounts, initial, folder, settle }: UsedCredentials,
  { kind, name }: NamedAccount,
  verb: string,
  change: (found: Accounts) => Accounts,
  context: CommandContext,
): Promise<StoredChange> {
  const command = `${kind} ${verb}`
  const done = await changeAccount(accounts, kind, name, change, initial?.forget)
  for (const { event, fields } of done.lines) await recordCommand(context, folder, event, command, fields)
  const show = async (lines: readonly string[], hasMadeSecret?: boolean) => {
    await showLines(lines, context, hasMadeSecret)
    if (done.lines.length > 0) await settle(command, context)
  }
  return { ...done, show }
}

interface NewSecret {
  /** For the accounts file. */
  readonly stored: string
  /** Lines for standard output. */
  readonly shown: readonly string[]
  /** Whether those lines have a secret that nobody knows yet. */
  readonly isGenerated: boolean
}

/** As `readChosen`; otherwise generates the secret, which is shown only now. */
async function newSecret(
  account: NamedAccount,
  isChosen: boolean,
  context: CommandContext,
): Promise<NewSecret> {
  const { kind, name } = account
  const chosen = await readChosen(account, isChosen, context)
  if (chosen !== undefined)
    return {
      stored: await hashPassword(chosen),
      shown: kind === 'user' ? [] : clientLines(name, undefined),
      isGenerated: false,
    }
  const made = generateSecret()
  return { stored: digestSecret(made), shown: clientLines(name, made), isGenerated: true }
}

/** Warns on standard error when a command has taken the last account that can log in, change records or manage accounts. */
function warnOfLastAccount(
  { commandOf }: CredentialStorage,
  before: Accounts,
  after: Accounts,
  { screen }: CommandContext,
): void {
  const missing = findMissingAccess(after)
  // A folder of an older connbook has had no admin before either.
  if (missing === undefined || (missing === 'administer' && !hasAdmin(before))) return
  screen.write(`connbook: Warning: ${warnings[missing]}; run: ${remedyFor(missing, after, commandOf)}\n`)
}
