import {
  type AccountKind,
  type Accounts,
  addAccount,
  checkAccountName,
  findAccount,
  listOf,
  noAccounts,
  scopeOf,
} from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { type InitialCredentials, writeInitialCredentials } from '../auth/initial-credentials.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, faultOfChosen, generateSecret, isSet, readSecretVariable } from '../auth/secret.ts'
import { UsageError } from '../errors.ts'
import { dataFiles } from '../files/data-folder.ts'
import type { DataFolder } from '../files/owned-folder.ts'
import { ADMIN_SCOPE, allows } from '../http/scope.ts'
import { quoteForShell } from '../shell.ts'

const variables = {
  username: 'CONNBOOK_ADMIN_USERNAME',
  password: 'CONNBOOK_ADMIN_PASSWORD',
  clientId: 'CONNBOOK_CLIENT_ID',
  clientSecret: 'CONNBOOK_CLIENT_SECRET',
} as const

/** Names of the first accounts, unless variables give others. */
const USUAL_NAMES = { user: 'admin', client: 'default' } as const

/** Every variable for a first start. */
export const firstStartVariables: readonly string[] = Object.values(variables).flatMap((variable) => [
  variable,
  `${variable}_FILE`,
])

/** The variables for a first start that are set, with or without `_FILE`. */
export function givenVariables(environment: NodeJS.ProcessEnv): string[] {
  return givenOf(Object.keys(variables) as (keyof typeof variables)[], environment)
}

function givenOf(names: readonly (keyof typeof variables)[], environment: NodeJS.ProcessEnv): string[] {
  return names
    .flatMap((name) => [variables[name], `${variables[name]}_FILE`])
    .filter((variable) => isSet(environment[variable]))
}

/** What the variables for a first start say. */
export interface FirstStartValues {
  readonly username: string | undefined
  readonly password: string | undefined
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  /** The variables of each kind of account that are set. */
  readonly variables: Readonly<Record<AccountKind, readonly string[]>>
}

/**
 * Reads the variables for a first start, and checks them.
 *
 * @param signal As in `readSecretVariable`.
 * @throws {UsageError} {InvalidInputError} if one is bad.
 */
export async function readFirstStartValues(
  environment: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<FirstStartValues> {
  const username = await readSecretVariable(variables.username, environment, signal)
  const password = await readSecretVariable(variables.password, environment, signal)
  const clientId = await readSecretVariable(variables.clientId, environment, signal)
  const clientSecret = await readSecretVariable(variables.clientSecret, environment, signal)
  if (username !== undefined) checkAccountName('user', username)
  if (clientId !== undefined) checkAccountName('client', clientId)
  checkChosen('user', variables.password, password, username ?? USUAL_NAMES.user, environment)
  checkChosen('client', variables.clientSecret, clientSecret, clientId ?? USUAL_NAMES.client, environment)
  const set = {
    user: givenOf(['username', 'password'], environment),
    client: givenOf(['clientId', 'clientSecret'], environment),
  }
  return { username, password, clientId, clientSecret, variables: set }
}

export interface FirstAccounts {
  readonly accounts: Accounts
  /** Only what was generated, not what the environment gave. */
  readonly madeUp: InitialCredentials
  /** The variables that had no effect, because the account was there. */
  readonly ignored: readonly string[]
}

/**
 * Makes the first user and the first client of a folder, as `makeFirstAccounts` does, besides those that it was prepared
 * with, and writes them. The accounts file is written last: a folder that has one has everything else.
 */
export async function createFirstAccounts(
  folder: DataFolder,
  values: FirstStartValues,
): Promise<FirstAccounts> {
  const first = await makeFirstAccounts(values, await accountsDocument(folder).read())
  await writeInitialCredentials(folder, first.madeUp)
  await accountsDocument(folder).write(first.accounts)
  return first
}

/**
 * Makes a user and a client, with secrets from the variables or random ones, and writes nothing. Makes none of a kind
 * of which an account that can change records exists, unless a variable names another.
 */
export async function makeFirstAccounts(
  values: FirstStartValues,
  { isPrepared: _, ...existing }: Accounts = noAccounts,
): Promise<FirstAccounts> {
  const { username = defaultName(existing, 'user'), password = generateSecret() } = values
  const { clientId = defaultName(existing, 'client'), clientSecret = generateSecret() } = values
  let accounts: Accounts = existing
  const madeUp: InitialCredentials = {}
  const ignored: string[] = []
  if (isMissing(existing, 'user', username, values.username ?? values.password)) {
    accounts = addAccount(accounts, 'user', username, await hashPassword(password), ADMIN_SCOPE)
    if (values.password === undefined) Object.assign(madeUp, { username, password })
  } else ignored.push(...values.variables.user)
  if (isMissing(existing, 'client', clientId, values.clientId ?? values.clientSecret)) {
    const isGiven = values.clientSecret !== undefined
    const stored = isGiven ? await hashPassword(clientSecret) : digestSecret(clientSecret)
    accounts = addAccount(accounts, 'client', clientId, stored)
    if (!isGiven) Object.assign(madeUp, { client_id: clientId, client_secret: clientSecret })
  } else ignored.push(...values.variables.client)
  return { accounts, madeUp, ignored }
}

/** @param given A variable for the account, if one is set. */
function isMissing(accounts: Accounts, kind: AccountKind, name: string, given: string | undefined): boolean {
  if (findAccount(accounts, kind, name) !== undefined) return false
  return given !== undefined || !hasWriter(accounts, kind)
}

function hasWriter(accounts: Accounts, kind: AccountKind): boolean {
  return listOf(accounts, kind).some((account) => allows(scopeOf(account), 'write'))
}

/** A read-only account may have the usual name; then a number follows it. */
function defaultName(accounts: Accounts, kind: AccountKind): string {
  const usual = USUAL_NAMES[kind]
  if (hasWriter(accounts, kind)) return usual
  let name: string = usual
  for (let number = 2; findAccount(accounts, kind, name) !== undefined; number++) name = `${usual}${number}`
  return name
}

/**
 * What a terminal shows at the first start, with lines to paste.
 *
 * @param place Where the server is reached; `socket` is the path of the Unix socket that serves the URL, undefined for TCP.
 */
export function welcome(
  madeUp: InitialCredentials,
  folder: DataFolder,
  { url, socket, hasConsole }: { url: string; socket: string | undefined; hasConsole: boolean },
): string {
  const { username, password, client_id, client_secret } = madeUp
  const insecure = url.startsWith('https:') ? ' -k' : ''
  const way = socket === undefined ? insecure : ` --unix-socket ${quoteForShell(socket)}`
  const lines = [
    '',
    'This is the first start: a new book begins. These credentials are shown only now;',
    `they are also in ${folder.file(dataFiles.initialCredentials)}, which only you can read.`,
    '',
  ]
  const json = (value: unknown) => quoteForShell(JSON.stringify(value))
  if (username !== undefined) {
    lines.push(`  user    ${username}    password       ${password}`, '')
    // No browser opens a Unix socket.
    if (hasConsole && socket === undefined) lines.push(`  In a browser: ${url}/console/`, '')
    lines.push(
      `  curl${way} -c cookies.txt -d ${json({ username, password })} ${url}/login`,
      `  curl${way} -b cookies.txt -d ${json({ name: 'web1', hostname: '192.0.2.10', port: 22, username: 'deploy' })} ${url}/configurations/`,
      `  curl${way} -b cookies.txt ${url}/configurations/`,
      '',
    )
  }
  if (client_id !== undefined) {
    lines.push(
      `  client  ${client_id}  client_secret  ${client_secret}`,
      '',
      `  curl${way} -d ${json({ client_id, client_secret })} ${url}/v1/auth/token`,
      `  curl${way} -H 'Authorization: Bearer ACCESS_TOKEN' ${url}/configurations/`,
      '',
    )
  }
  return `${lines.join('\n')}\n`
}

/** @throws {UsageError} for a secret that is easy to guess. */
function checkChosen(
  kind: AccountKind,
  variable: string,
  secret: string | undefined,
  name: string,
  environment: NodeJS.ProcessEnv,
): void {
  const fault = secret === undefined ? undefined : faultOfChosen(kind, secret, name)
  const source = isSet(environment[variable]) ? variable : `${variable}_FILE`
  if (fault !== undefined) throw new UsageError(`Cannot use ${source}: it ${fault}`)
}
