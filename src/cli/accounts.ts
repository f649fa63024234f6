import { join, resolve } from 'node:path'
import {
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
  UnknownAccountError,
  withAccountsLock,
} from '../auth/accounts.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import { FolderRefusedError, systemCode, UsageError } from '../errors.ts'
import { checkDataFolder, dataFiles } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { parseCommandLine } from './options.ts'
import { readPassword } from './terminal.ts'

type Print = (line: string) => void

const verbs = {
  user: ['add', 'passwd', 'remove', 'list'],
  client: ['add', 'rotate', 'remove', 'list'],
} as const

/**
 * Runs `user …` and `client …`, whether or not a server runs on the folder.
 *
 * @param print Takes one line for standard output.
 * @throws {UsageError} {AccountExistsError} {UnknownAccountError} {FolderRefusedError}; then nothing has changed.
 */
export async function runAccountsCommand(
  kind: AccountKind,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  print: Print,
): Promise<void> {
  const { options, words } = parseCommandLine(args, environment, ['data'])
  const [verb, name, ...rest] = words
  const known: readonly string[] = verbs[kind]
  if (verb === undefined || !known.includes(verb)) {
    throw new UsageError(
      `Unknown command "${[kind, verb ?? ''].join(' ').trim()}"; it takes ${known.join(', ')}`,
    )
  }
  const usage = `connbook ${kind} ${verb}${verb === 'list' ? '' : ' NAME'}`
  if (rest.length > 0 || (name === undefined) !== (verb === 'list'))
    throw new UsageError(`Write it as: ${usage}`)
  const folder = resolve(options.data)
  await checkInUse(folder)
  if (name === undefined) {
    for (const account of listOf(await readAccounts(folder), kind)) print(account.name)
    return
  }
  if (verb === 'add') await addNew(folder, kind, name, print)
  else if (verb === 'remove') await remove(folder, kind, name, print)
  else await replaceSecret(folder, kind, name, print)
}

async function addNew(folder: string, kind: AccountKind, name: string, print: Print) {
  checkAccountName(kind, name)
  // Said before a password is asked for, and again by addAccount in case somebody was faster.
  if (findAccount(await readAccounts(folder), kind, name) !== undefined) {
    throw new AccountExistsError(`Cannot add ${kind} "${name}" in "${folder}": there is one already`)
  }
  const { stored, shown } = await newSecret(kind, name)
  await change(folder, (accounts) => addAccount(accounts, kind, name, stored))
  print(`Added ${kind} "${name}" in ${folder}`)
  for (const line of shown) print(line)
}

async function replaceSecret(folder: string, kind: AccountKind, name: string, print: Print) {
  if (findAccount(await readAccounts(folder), kind, name) === undefined) {
    throw new UnknownAccountError(`There is no ${kind} "${name}" in "${folder}"`)
  }
  const { stored, shown } = await newSecret(kind, name)
  await change(folder, async (accounts) => {
    const changed = changeSecret(accounts, kind, name, stored)
    await forgetInitialCredentials(folder, kind, name)
    return changed
  })
  print(`Changed the ${kind === 'user' ? 'password' : 'secret'} of ${kind} "${name}" in ${folder}`)
  print(kind === 'user' ? 'Every session of this user has ended' : 'Every token of this client has ended')
  for (const line of shown) print(line)
}

async function remove(folder: string, kind: AccountKind, name: string, print: Print) {
  await change(folder, async (accounts) => {
    const changed = removeAccount(accounts, kind, name)
    await forgetInitialCredentials(folder, kind, name)
    return changed
  })
  print(`Removed ${kind} "${name}" from ${folder}`)
}

/** A user's password is typed by a person; a client's secret is made here and shown this once. */
async function newSecret(kind: AccountKind, name: string): Promise<{ stored: string; shown: string[] }> {
  if (kind === 'user')
    return { stored: await hashPassword(await readPassword(`Password for "${name}"`)), shown: [] }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [`client_id: ${name}`, `client_secret: ${secret}`] }
}

async function change(folder: string, edit: (accounts: Accounts) => Accounts | Promise<Accounts>) {
  await withAccountsLock(folder, async () => {
    await accountsDocument(folder).write(await edit(await readAccounts(folder)))
  })
}

async function readAccounts(folder: string): Promise<Accounts> {
  const accounts = await accountsDocument(folder).read()
  if (accounts === undefined) throw noData(folder)
  return accounts
}

/** A mistyped folder must not become a new one. */
async function checkInUse(folder: string) {
  try {
    await realFileSystem.lstat(join(folder, dataFiles.accounts))
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') throw noData(folder)
    throw error
  }
  await checkDataFolder(folder)
}

function noData(folder: string): FolderRefusedError {
  return new FolderRefusedError(
    `Cannot find accounts in "${folder}"; start connbook once to make them, or name the folder with --data`,
  )
}
