import { type AccountKind, checkAccountName } from '../../auth/accounts.ts'
import type { Client } from '../../client/client.ts'
import { OtherAnswerError, RefusedError } from '../../client/refused.ts'
import type { CommandContext, CommandInput, Screen } from '../../command-line/command.ts'
import type { Options } from '../../command-line/options.ts'
import { dataPaths } from '../../files/data-folder.ts'
import { ADMIN_SCOPE, isScopeWord, type ScopeWord } from '../../http/scope.ts'
import { isObject, parseJson } from '../../json.ts'
import { isNewFolder } from '../../state/new-folder.ts'
import { escapeHidden } from '../../text.ts'
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
} from '../account-words.ts'
import { bodyOf, JSON_BODY, makeChange, quoted } from './changes.ts'
import { type clientFlags, connect } from './connect.ts'

type Input<Flag extends keyof Options = never> = CommandInput<(typeof clientFlags)[number] | Flag>

// These call a book as its owner, or in the name of an admin. After an {OutputError} the change is complete.

/** Runs `user add` or `client add` @throws {RefusedError} {UsageError} Also throws as `connect` does. */
export async function addNamed(
  account: NamedAccount,
  input: Input<AddFlag>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  const { options } = input
  const { scope, grants } = rightsToAdd(options)
  const client = await connectAsAdmin(kind, input, context, 'add')
  try {
    if (isAsked(account, options, context)) await checkCanAdd(client, account)
    const chosen = await readChosen(account, options.secretStdin, context)
    const secret = chosen === undefined ? {} : { [kindWords[kind].secret]: chosen }
    const body = { name, scope, grants, ...secret }
    const call = askForAccount(client, { method: 'POST', path: pathOf(kind), body })
    const describe = () => `Added ${scopeTexts[scope].adjective}${kind} ${quoted(name)}`
    await change(client, account, call, describe, context)
  } catch (error) {
    if (!options.ifMissing || !isProblem(error, 'name_taken')) throw error
    context.screen.write(
      `There is ${kind} ${quoted(name)} ${client.endpoint.where} already; nothing has changed\n`,
    )
  }
}

/** Whether somebody is asked for the secret on a terminal. */
function isAsked(
  { kind }: NamedAccount,
  { secretStdin }: Pick<Options, 'secretStdin'>,
  context: CommandContext,
): boolean {
  return (kind === 'user' || secretStdin) && context.input.isTTY === true
}

/** Refuses what cannot be added before somebody is asked for a secret. @throws {InvalidInputError} {RefusedError} */
async function checkCanAdd(client: Client, { kind, name }: NamedAccount): Promise<void> {
  checkAccountName(kind, name)
  const { folder } = client.endpoint
  if (folder !== undefined && (await isNewFolder(dataPaths(folder)))) return
  const accounts = accountsIn(await client.askJson({ method: 'GET', path: pathOf(kind) })) ?? []
  if (!accounts.some((account) => account.name === name)) return
  const message = `Cannot add the ${kind} ${quoted(name)}: there is one already`
  throw new RefusedError(message, { status: 409, problem: 'name_taken' })
}

/** Runs `user passwd` or `client rotate` @throws as `addNamed` does. */
export async function replaceSecret(
  account: NamedAccount,
  input: Input<'secretStdin'>,
  context: CommandContext,
): Promise<void> {
  const { kind, name } = account
  const { replace, secret: what, ended } = kindWords[kind]
  const client = await connectAsAdmin(kind, input, context, replace)
  if (isAsked(account, input.options, context)) await client.ask({ method: 'GET', path: pathOf(kind, name) })
  const chosen = await readChosen(account, input.options.secretStdin, context)
  const body = chosen === undefined ? { rotate: true } : { [what]: chosen }
  const call = askForAccount(client, { method: 'PATCH', path: pathOf(kind, name), body })
  const describe = () => `Changed the ${what} of ${kind} ${quoted(name)}`
  const more = () => `; every ${ended} of this ${kind} has ended`
  await change(client, account, call, describe, context, more)
}

/** Runs `user set` or `client set` @throws as `addNamed` does. */
export async function setRights(
  { kind, name }: NamedAccount,
  input: Input<SetFlag>,
  context: CommandContext,
): Promise<void> {
  const rights = rightsToSet(kind, input.options)
  const client = await connectAsAdmin(kind, input, context, 'set')
  const path = pathOf(kind, name)
  const { headers: before } = await client.ask({ method: 'GET', path })
  const call = askForAccount(client, { method: 'PATCH', path, body: rights }).catch(explainAdminGrants)
  const who = `${kindWords[kind].title} ${quoted(name)}`
  const what = ({ tag }: ShownAccount) =>
    ` ${describeRights(rights, tag === undefined || tag !== before.etag)}`
  await makeChange(client, context.screen, call, () => who, {}, what)
  warn(context.screen, await call)
}

/** Says once, and by the flags, that an admin has no grants. */
function explainAdminGrants(error: unknown): never {
  if (!(error instanceof RefusedError) || error.faults.every(({ field }) => field !== 'grants')) throw error
  throw new RefusedError(`${error.message}; give --no-grants with --admin, or --read-write with --grant`, {
    ...error,
    faults: [],
  })
}

/** Runs `user remove` or `client remove` @throws as `addNamed` does. */
export async function removeNamed(
  { kind, name }: NamedAccount,
  input: Input<'ifPresent'>,
  context: CommandContext,
): Promise<void> {
  const client = await connectAsAdmin(kind, input, context, 'remove')
  const { screen } = context
  const call = client.ask({ method: 'DELETE', path: pathOf(kind, name) })
  try {
    await makeChange(client, screen, call, () => `Removed ${kind} ${quoted(name)}`)
    warn(screen, parseJson((await call).text))
  } catch (error) {
    if (!input.options.ifPresent || !isProblem(error, 'unknown_account')) throw error
    screen.write(`There is no ${kind} ${quoted(name)} ${client.endpoint.where}; nothing has changed\n`)
  }
}

/** Runs `user list` or `client list` @throws as `addNamed` does. */
export async function listNames(
  { kind }: Pick<NamedAccount, 'kind'>,
  input: Input,
  context: CommandContext,
): Promise<void> {
  const client = await connectAsAdmin(kind, input, context, 'list')
  const answer = await client.askJson({ method: 'GET', path: pathOf(kind) })
  const accounts = accountsIn(answer) ?? notAccounts(client)
  await showAccounts(accounts, kind, context)
}

function connectAsAdmin(
  kind: AccountKind,
  input: Input,
  context: CommandContext,
  verb: string,
): Promise<Client> {
  return connect(input, context, `${kind} ${verb}`, { scope: ADMIN_SCOPE, isMadeIfMissing: verb === 'add' })
}

function pathOf(kind: AccountKind, name?: string): string {
  return `/v1/${kind}s/${name === undefined ? '' : encodeURIComponent(name)}`
}

/** What was typed for each field that the server may refuse. */
function typedOf(kind: AccountKind): Readonly<Record<string, string>> {
  return { name: kindWords[kind].operand, password: 'The password', secret: 'The secret' }
}

/** Makes a change, and prints what a client needs to call: its id, and a secret that was made. */
async function change(
  client: Client,
  { kind, name }: NamedAccount,
  call: Promise<ShownAccount>,
  describe: () => string,
  context: CommandContext,
  more?: () => string,
): Promise<void> {
  await makeChange(client, context.screen, call, describe, typedOf(kind), more)
  const { secret } = await call
  if (kind === 'client') await showLines(clientLines(name, secret), context, secret !== undefined)
}

/** Says what nobody can do any more after the change, if its answer says so. */
function warn(screen: Screen, answer: unknown): void {
  if (isObject(answer) && typeof answer.warning === 'string')
    screen.write(`connbook: Warning: ${escapeHidden(answer.warning)}\n`)
}

interface ShownAccount {
  readonly name: string
  readonly scope: ScopeWord
  readonly grants?: readonly string[] | undefined
  readonly secret?: string | undefined
  readonly tag?: string | undefined
  /** What nobody can do any more after a change. */
  readonly warning?: unknown
}

async function askForAccount(
  client: Client,
  { body, ...call }: { readonly method: 'POST' | 'PATCH'; readonly path: string; readonly body: object },
): Promise<ShownAccount> {
  const { text, headers } = await client.ask({ ...call, headers: JSON_BODY, body: bodyOf(body) })
  const answer = parseJson(text)
  const [account] = accountsIn(answer) ?? []
  if (account === undefined) return notAccounts(client)
  return { ...account, tag: headers.etag, warning: isObject(answer) ? answer.warning : undefined }
}

/** Undefined if it is not what a connbook answers. */
function accountsIn(answer: unknown): ShownAccount[] | undefined {
  if (!isObject(answer) || !Array.isArray(answer.accounts)) return undefined
  const accounts = answer.accounts.filter(
    (account): account is ShownAccount =>
      isObject(account) &&
      typeof account.name === 'string' &&
      isScopeWord(account.scope) &&
      (account.grants === undefined || areTexts(account.grants)) &&
      (account.secret === undefined || typeof account.secret === 'string'),
  )
  return accounts.length === answer.accounts.length ? accounts : undefined
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function notAccounts({ endpoint }: Client): never {
  throw new OtherAnswerError(`${endpoint.name} answers no accounts; is it a connbook?`)
}

function isProblem(error: unknown, code: string): boolean {
  return error instanceof RefusedError && error.problem === code
}
