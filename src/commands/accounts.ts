import {
  type Account,
  AccountExistsError,
  type AccountKind,
  type Accounts,
  addAccount,
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
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import { alignColumns } from '../command-line/columns.ts'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { Look } from '../command-line/look.ts'
import { shown } from '../command-line/output.ts'
import { readPassword } from '../command-line/terminal.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { recordCommand } from '../folder/command-audit.ts'
import { getUsedFolder, noData } from '../folder/used-folder.ts'
import { FULL_SCOPE } from '../http/scope.ts'

const SECRET_LOST = ': the secret is lost; rotate it again'

// These work whether or not a server runs on the folder. After an {OutputError} the change is complete; after an error
// of the disk it may be; after any other error nothing has changed.

/** Runs `user add` or `client add`. @throws {AccountExistsError} {UsageError} {FolderRefusedError} */
export async function addToFolder(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data' | 'readOnly'>,
  context: CommandContext,
): Promise<void> {
  const folder = await getUsedFolder(options.data)
  checkAccountName(kind, name)
  // Checked before asking for a password; addAccount checks again, under the lock.
  if (findAccount(await readAccounts(folder), kind, name) !== undefined) {
    throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${folder.path}": there is one already`)
  }
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  const secret = await newSecret(kind, name, context)
  await change(folder, (accounts) => addAccount(accounts, kind, name, secret.stored, scope))
  await recordCommand(context, folder, `${kind}_added`, `${kind} add`, { account: name, scope })
  const what = scope === FULL_SCOPE ? kind : `read-only ${kind}`
  await showDone([`Added ${what} "${name}" in ${folder.path}`, ...secret.shown], context, kind)
}

/** Runs `user passwd` or `client rotate`. @throws {UnknownAccountError} {UsageError} {FolderRefusedError} */
export async function replaceSecret(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data'>,
  context: CommandContext,
): Promise<void> {
  const folder = await getUsedFolder(options.data)
  await checkKnown(folder, kind, name)
  const secret = await newSecret(kind, name, context)
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
  await showDone(lines, context, kind)
}

/** Runs `user remove` or `client remove`. @throws {UnknownAccountError} {FolderRefusedError} */
export async function removeFromFolder(
  kind: AccountKind,
  { options, operands: [name = ''] }: CommandInput<'data'>,
  context: CommandContext,
): Promise<void> {
  const folder = await getUsedFolder(options.data)
  await checkKnown(folder, kind, name)
  await change(folder, (accounts) => removeAccount(accounts, kind, name), [kind, name])
  await recordCommand(context, folder, `${kind}_removed`, `${kind} remove`, { account: name })
  await showDone([`Removed ${kind} "${name}" from ${folder.path}`], context)
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

/** @param kind Of the account whose new secret is shown; undefined when none is. */
async function showDone(lines: readonly string[], { print }: CommandContext, kind?: AccountKind) {
  const state = kind === 'client' ? SECRET_LOST : ''
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

async function checkKnown(folder: DataPaths, kind: AccountKind, name: string) {
  if (findAccount(await readAccounts(folder), kind, name) !== undefined) return
  throw new UnknownAccountError(`There is no ${kind} "${name}" in "${folder.path}"`)
}

/** A user's password is read; a client's secret is generated and shown only now. */
async function newSecret(
  kind: AccountKind,
  name: string,
  context: CommandContext,
): Promise<{ stored: string; shown: string[] }> {
  if (kind === 'user') {
    const password = await readPassword(`Password for "${name}"`, context)
    return { stored: await hashPassword(password), shown: [] }
  }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [`client_id: ${name}`, `client_secret: ${secret}`] }
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
