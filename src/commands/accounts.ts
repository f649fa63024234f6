import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
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
import { accountsDocument } from '../auth/accounts-file.ts'
import { withCredentialsLock } from '../auth/credentials-lock.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { alignColumns } from '../command-line/columns.ts'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { Look } from '../command-line/look.ts'
import { shown } from '../command-line/output.ts'
import { FolderInUseError, UsageError } from '../errors.ts'
import { type DataPaths, dataPaths } from '../files/data-folder.ts'
import { recordCommand } from '../folder/command-audit.ts'
import { isNewFolder, prepareFolder } from '../folder/new-folder.ts'
import { getUsedFolder, noData } from '../folder/used-folder.ts'
import { FULL_SCOPE } from '../http/scope.ts'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import { type NewSecret, newSecret } from './account-secret.ts'
import { warnOfLastAccount } from './last-account.ts'

const SECRET_LOST = ': the secret is lost; rotate it again'

// These work whether or not a server runs on the folder. After an {OutputError} the change is complete; after an error
// of the disk it may be; after any other error nothing has changed.

/** Runs `user add` or `client add`. @throws {AccountExistsError} {UsageError} {FolderRefusedError} */
export async function addToFolder(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data' | 'readOnly' | 'ifMissing' | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  const isNew = await isNewFolder(options.data)
  const folder = isNew ? dataPaths(resolve(options.data)) : await getUsedFolder(options.data)
  checkAccountName(kind, name)
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  try {
    // Checked before asking for a password; addAccount checks again, under the lock.
    if (!isNew && findAccount(await readAccounts(folder), kind, name) !== undefined)
      throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${folder.path}": there is one already`)
    const secret = await newSecret(kind, name, options.secretStdin, context)
    if (isNew) await prepareUnlessUsed(folder, context)
    await change(folder, (accounts) => addAccount(accounts, kind, name, secret.stored, scope))
    await recordCommand(context, folder, `${kind}_added`, `${kind} add`, { account: name, scope })
    const what = scope === FULL_SCOPE ? kind : `read-only ${kind}`
    await showDone([`Added ${what} "${name}" in ${folder.path}`, ...secret.shown], context, secret)
  } catch (error) {
    if (!(error instanceof AccountExistsError) || !options.ifMissing) throw error
    await showDone([`There is ${kind} "${name}" in ${folder.path} already; nothing has changed`], context)
  }
}

/**
 * Makes the folder. If another process is making it, waits until that has made its accounts.
 *
 * @throws {FolderInUseError} if it has not made them within LOCK_WAIT_MS.
 */
async function prepareUnlessUsed(folder: DataPaths, context: CommandContext) {
  const end = performance.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      return (await prepareFolder(folder.path, context)).release()
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error
      if ((await accountsDocument(folder).read()) !== undefined) return
      if (performance.now() >= end) throw error
    }
    await setTimeout(LOCK_PAUSE_MS)
  }
}

/** Runs `user passwd` or `client rotate`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function replaceSecret(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data' | 'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  const folder = await getUsedFolder(options.data)
  await getKnown(folder, kind, name)
  const secret = await newSecret(kind, name, options.secretStdin, context)
  await change(folder, (accounts) => changeSecret(accounts, kind, name, secret.stored), [kind, name])
  if (kind === 'user')
    await recordCommand(context, folder, 'user_password_changed', 'user passwd', { account: name })
  else await recordCommand(context, folder, 'client_rotated', 'client rotate', { account: name })
  const [what, ended] = kind === 'user' ? ['password', 'session'] : ['secret', 'token']
  const lines = [
    `Changed the ${what} of ${kind} "${name}" in ${folder.path}`,
    `Every ${ended} of this ${kind} has ended`,
    ...secret.shown,
  ]
  await showDone(lines, context, secret)
}

/** Runs `user set` or `client set`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function setInFolder(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data' | 'readOnly' | 'readWrite'>,
  context: CommandContext,
): Promise<void> {
  if (options.readOnly === options.readWrite) {
    const line = `connbook ${kind} set ${kind === 'user' ? 'NAME' : 'ID'}`
    throw new UsageError(`Write it as: ${line} --read-only, or: ${line} --read-write`)
  }
  const folder = await getUsedFolder(options.data)
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  const isSame = scopeOf(await getKnown(folder, kind, name)) === scope
  if (!isSame) {
    await change(folder, (accounts) => changeScope(accounts, kind, name, scope))
    await recordCommand(context, folder, `${kind}_changed`, `${kind} set`, { account: name, scope })
  }
  const may = scope === FULL_SCOPE ? 'read and change records' : 'only read'
  const since = isSame ? 'already; nothing has changed' : 'from now on'
  await showDone(
    [`${kind === 'user' ? 'User' : 'Client'} "${name}" in ${folder.path} may ${may} ${since}`],
    context,
  )
  if (!isSame) await warnOfLastAccount(folder, context)
}

/** Runs `user remove` or `client remove`. @throws {UnknownAccountError} {FolderRefusedError} */
export async function removeFromFolder(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data' | 'ifPresent'>,
  context: CommandContext,
): Promise<void> {
  const folder = await getUsedFolder(options.data)
  try {
    await getKnown(folder, kind, name)
    await change(folder, (accounts) => removeAccount(accounts, kind, name), [kind, name])
    await recordCommand(context, folder, `${kind}_removed`, `${kind} remove`, { account: name })
    await showDone([`Removed ${kind} "${name}" from ${folder.path}`], context)
    await warnOfLastAccount(folder, context)
  } catch (error) {
    if (!(error instanceof UnknownAccountError) || !options.ifPresent) throw error
    await showDone([`There is no ${kind} "${name}" in ${folder.path}; nothing has changed`], context)
  }
}

/** Runs `user list` or `client list`. @throws {FolderRefusedError} */
export async function listFolder(
  kind: AccountKind,
  { options }: CommandInput<'data'>,
  { print, look }: CommandContext,
): Promise<void> {
  const accounts = listOf(await readAccounts(await getUsedFolder(options.data)), kind)
  await shown(print(linesOf(accounts, kind, look).map(asLine).join('')), `show the ${kind}s`)
}

function linesOf(accounts: readonly Account[], kind: AccountKind, look: Look): string[] {
  if (!look.isTerminal) return accounts.map(describe)
  const rows = accounts.map((account) => [account.name, isReadOnly(account) ? 'read-only' : 'read and write'])
  return alignColumns([kind === 'user' ? 'USER' : 'CLIENT', 'MAY'], rows, look)
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

/** @throws {UnknownAccountError} naming the folder. */
async function getKnown(folder: DataPaths, kind: AccountKind, name: string): Promise<Account> {
  const account = findAccount(await readAccounts(folder), kind, name)
  if (account !== undefined) return account
  throw new UnknownAccountError(`There is no ${kind} "${name}" in "${folder.path}"`)
}

/** @param known The account whose initial credentials are forgotten once the change is on disk. */
async function change(
  folder: DataPaths,
  edit: (accounts: Accounts) => Accounts,
  known?: readonly [kind: AccountKind, name: string],
) {
  await withCredentialsLock(folder, async () => {
    await accountsDocument(folder).write(edit(await readAccounts(folder)))
    if (known !== undefined) await forgetInitialCredentials(folder, ...known)
  })
}

async function readAccounts(folder: DataPaths): Promise<Accounts> {
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined) throw noData(folder.path)
  return accounts
}
