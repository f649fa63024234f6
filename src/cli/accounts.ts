import { resolve } from 'node:path'
import {
  type Account,
  AccountExistsError,
  type AccountKind,
  type Accounts,
  accountsDocument,
  addAccount,
  changeSecret,
  checkAccountName,
  findAccount,
  listOf,
  removeAccount,
  scopeOf,
  UnknownAccountError,
  withCredentialsLock,
} from '../auth/accounts.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import { systemCode, UsageError } from '../errors.ts'
import { FULL_SCOPE, type Scope } from '../http/scope.ts'
import { alignColumns } from './columns.ts'
import { parseVerb } from './command.ts'
import { recordCommand } from './command-audit.ts'
import { type Look, plainLook } from './look.ts'
import { type CommandLine, parseCommandLine } from './options.ts'
import { OutputError, type Print } from './output.ts'
import { readPassword } from './terminal.ts'
import { checkUsedFolder, noData } from './used-folder.ts'

const verbs = {
  user: ['add', 'passwd', 'remove', 'list'],
  client: ['add', 'rotate', 'remove', 'list'],
} as const

/**
 * Runs `user …` and `client …`, whether or not a server runs on the folder.
 *
 * @throws {UsageError} {AccountExistsError} {UnknownAccountError} {FolderRefusedError}; then nothing has changed.
 * @throws {OutputError} if `print` failed; then everything is done.
 */
export async function runAccountsCommand(
  kind: AccountKind,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  print: Print,
  look: Look = plainLook,
): Promise<void> {
  const { options, words } = parseAccountsCommandLine(args, environment)
  const [word, name, ...rest] = words
  const verb = parseVerb(kind, verbs[kind], word)
  const usage = `connbook ${kind} ${verb}${verb === 'list' ? '' : ' NAME'}`
  if (rest.length > 0 || (name === undefined) !== (verb === 'list'))
    throw new UsageError(`Write it as: ${usage}`)
  const folder = resolve(options.data)
  await checkUsedFolder(folder)
  const scope = options.readOnly ? 'read' : FULL_SCOPE
  const lines =
    name === undefined ? await list(folder, kind, look) : await run(folder, kind, verb, name, scope)
  try {
    for (const line of lines) await print(`${line}\n`)
  } catch (error) {
    const isSecretLost = kind === 'client' && (verb === 'add' || verb === 'rotate')
    const rest = isSecretLost ? ': the secret is lost; rotate it again' : ''
    const what = name === undefined ? `the ${kind}s` : 'what was done'
    throw new OutputError(`Cannot show ${what} (${systemCode(error)})${rest}`, { cause: error })
  }
}

/** Only `add` takes `--read-only`; anywhere else it is an unknown flag. */
function parseAccountsCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): CommandLine {
  const line = parseCommandLine(args, environment, args.includes('add') ? ['data', 'readOnly'] : ['data'])
  return line.words[0] === 'add' ? line : parseCommandLine(args, environment, ['data'])
}

/** Does what was asked and gives the lines to show. */
async function run(
  folder: string,
  kind: AccountKind,
  verb: string,
  name: string,
  scope: Scope,
): Promise<string[]> {
  if (verb === 'add') return addNew(folder, kind, name, scope)
  return verb === 'remove' ? remove(folder, kind, name) : replaceSecret(folder, kind, name)
}

async function list(folder: string, kind: AccountKind, look: Look): Promise<string[]> {
  const accounts = listOf(await readAccounts(folder), kind)
  if (!look.isTerminal) return accounts.map(describe)
  const rows = accounts.map((account) => [account.name, isReadOnly(account) ? 'read-only' : 'read and write'])
  return alignColumns([kind === 'user' ? 'USER' : 'CLIENT', 'MAY'], rows, look)
}

/** A name holds no tab, so a script can tell it from what stands behind it. */
function describe(account: Account): string {
  return isReadOnly(account) ? `${account.name}\tread-only` : account.name
}

function isReadOnly(account: Account): boolean {
  return scopeOf(account) !== FULL_SCOPE
}

async function addNew(folder: string, kind: AccountKind, name: string, scope: Scope): Promise<string[]> {
  checkAccountName(kind, name)
  // Said before a password is asked for, and again by addAccount in case somebody was faster.
  if (findAccount(await readAccounts(folder), kind, name) !== undefined) {
    throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${folder}": there is one already`)
  }
  const { stored, shown } = await newSecret(kind, name)
  await change(folder, (accounts) => addAccount(accounts, kind, name, stored, scope))
  await recordCommand(folder, `${kind}_added`, `${kind} add`, { account: name, scope })
  const what = scope === FULL_SCOPE ? kind : `read-only ${kind}`
  return [`Added ${what} "${name}" in ${folder}`, ...shown]
}

async function replaceSecret(folder: string, kind: AccountKind, name: string): Promise<string[]> {
  await checkKnown(folder, kind, name)
  const { stored, shown } = await newSecret(kind, name)
  await change(
    folder,
    (accounts) => changeSecret(accounts, kind, name, stored),
    () => forgetInitialCredentials(folder, kind, name),
  )
  if (kind === 'user') await recordCommand(folder, 'user_password_changed', 'user passwd', { account: name })
  else await recordCommand(folder, 'client_rotated', 'client rotate', { account: name })
  const [what, ended] = kind === 'user' ? ['password', 'session'] : ['secret', 'token']
  return [
    `Changed the ${what} of ${kind} "${name}" in ${folder}`,
    `Every ${ended} of this ${kind} has ended`,
    ...shown,
  ]
}

async function remove(folder: string, kind: AccountKind, name: string): Promise<string[]> {
  await checkKnown(folder, kind, name)
  await change(
    folder,
    (accounts) => removeAccount(accounts, kind, name),
    () => forgetInitialCredentials(folder, kind, name),
  )
  await recordCommand(folder, `${kind}_removed`, `${kind} remove`, { account: name })
  return [`Removed ${kind} "${name}" from ${folder}`]
}

async function checkKnown(folder: string, kind: AccountKind, name: string) {
  if (findAccount(await readAccounts(folder), kind, name) !== undefined) return
  throw new UnknownAccountError(`There is no ${kind} "${name}" in "${folder}"`)
}

/** A user's password is typed by a person; a client's secret is made here and shown this once. */
async function newSecret(kind: AccountKind, name: string): Promise<{ stored: string; shown: string[] }> {
  if (kind === 'user')
    return { stored: await hashPassword(await readPassword(`Password for "${name}"`)), shown: [] }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [`client_id: ${name}`, `client_secret: ${secret}`] }
}

/** @param afterwards What must not happen unless the change is on disk. */
async function change(
  folder: string,
  edit: (accounts: Accounts) => Accounts,
  afterwards?: () => Promise<void>,
) {
  await withCredentialsLock(folder, async () => {
    await accountsDocument(folder).write(edit(await readAccounts(folder)))
    await afterwards?.()
  })
}

async function readAccounts(folder: string): Promise<Accounts> {
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined) throw noData(folder)
  return accounts
}
