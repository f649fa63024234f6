import type { AccountKind } from '../auth/accounts.ts'
import { faultOfChosen } from '../auth/secret.ts'
import { alignColumns } from '../command-line/columns.ts'
import type { CommandContext } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { readPassword } from '../command-line/terminal.ts'
import type { TerminalStyle } from '../command-line/terminal-style.ts'
import { UsageError } from '../errors.ts'
import type { ScopeWord } from '../http/scope.ts'
import { readGrants } from '../store/grants.ts'
import { escapeHidden } from '../text.ts'

// What the commands for accounts read and print, wherever the accounts are.

/** The account that a command names. */
export interface NamedAccount {
  readonly kind: AccountKind
  /** Empty for a command that lists all of a kind. */
  readonly name: string
}

/** What differs between the commands for users and those for clients; `secret` is also its member in a body. */
export const kindWords = {
  user: { title: 'User', operand: 'NAME', replace: 'passwd', secret: 'password', ended: 'session' },
  client: { title: 'Client', operand: 'ID', replace: 'rotate', secret: 'secret', ended: 'token' },
} as const satisfies Record<AccountKind, Readonly<Record<string, string>>>

/** The flags of `add`, beside those that say where the accounts are, and where a secret comes from. */
export const addFlags = ['readOnly', 'admin', 'grant', 'ifMissing'] as const
/** The flags of `set`, beside those that say where the accounts are. */
export const setFlags = ['readOnly', 'readWrite', 'admin', 'grant', 'noGrants'] as const

export type AddFlag = (typeof addFlags)[number] | 'secretStdin'
export type SetFlag = (typeof setFlags)[number]

/** What an account may do, for people. */
export const scopeTexts: Readonly<
  Record<ScopeWord, { readonly adjective: string; readonly cell: string; readonly state: string }>
> = {
  read: { adjective: 'read-only ', cell: 'read-only', state: 'is read-only' },
  write: { adjective: '', cell: 'read and write', state: 'can read and change records' },
  admin: {
    adjective: 'admin ',
    cell: 'read, write and manage accounts',
    state: 'can read and change records, and manage accounts',
  },
}

interface ScopeFlags {
  readonly readOnly: boolean
  readonly readWrite?: boolean
  readonly admin: boolean
}

interface RightsFlags extends ScopeFlags {
  readonly grant: readonly string[]
  readonly noGrants?: boolean
}

/** What the flags of `add` or `set` say of an account. */
export interface AskedRights {
  readonly scope?: ScopeWord | undefined
  /** In their one form; null for all records. */
  readonly grants?: readonly string[] | null | undefined
}

/** What the flags of `add` say. @throws {UsageError} for flags that exclude each other. */
export function rightsToAdd(options: RightsFlags): {
  readonly scope: ScopeWord
  readonly grants: readonly string[] | undefined
} {
  if (options.readOnly && options.admin) throw new UsageError('Give --read-only or --admin, not both')
  if (options.admin && options.grant.length > 0)
    throw new UsageError('Give --admin or --grant, not both: an admin can lift every limit')
  return { scope: scopeAsked(options) ?? 'write', grants: grantsAsked(options) ?? undefined }
}

/** What the flags of `set` say. @throws {UsageError} if they say nothing, or exclude each other. */
export function rightsToSet(kind: AccountKind, options: RightsFlags): AskedRights {
  const scope = scopeAsked(options)
  const grants = grantsAsked(options)
  const hasScope = options.readOnly || options.readWrite === true || options.admin
  if (hasScope ? scope !== undefined : grants !== undefined) return { scope, grants }
  const line = `connbook ${kind} set ${kindWords[kind].operand}`
  throw new UsageError(
    `Write it as: ${line} --read-only, or: ${line} --read-write, or: ${line} --admin; or with --grant GRANT or --no-grants`,
  )
}

/** @throws {UsageError} for both flags, or naming each grant that is not valid. */
function grantsAsked({ grant, noGrants }: RightsFlags): readonly string[] | null | undefined {
  if (noGrants && grant.length > 0) throw new UsageError('Give --grant or --no-grants, not both')
  if (noGrants) return null
  if (grant.length === 0) return undefined
  const faults: string[] = []
  const grants = readGrants(grant, (detail) => faults.push(detail))
  if (grants === undefined) throw new UsageError(`Cannot use --grant: ${faults.join('; ')}`)
  return grants
}

/** What has become of the rights of an account, to complete "User … ". @param isNew Whether it could not do that before. */
export function describeRights({ scope, grants }: AskedRights, isNew: boolean): string {
  const parts = scope === undefined ? [] : [scopeTexts[scope].state]
  if (grants === null) parts.push('sees all records')
  if (grants) parts.push('sees and changes only what is granted')
  const which = grants ? `: ${grants.join(' ')}` : ''
  return `${parts.join(', and ')} ${isNew ? 'from now on' : 'already'}${which}${isNew ? '' : '; nothing has changed'}`
}

/** Undefined without a flag, and for several. */
function scopeAsked({ readOnly, readWrite, admin }: ScopeFlags): ScopeWord | undefined {
  const [scope, ...others] = [
    ...(readOnly ? (['read'] as const) : []),
    ...(readWrite ? (['write'] as const) : []),
    ...(admin ? (['admin'] as const) : []),
  ]
  return others.length === 0 ? scope : undefined
}

interface ListedAccount {
  readonly name: string
  readonly scope: ScopeWord
  readonly grants?: readonly string[] | undefined
}

/** A table for a terminal; otherwise a line each, where a tab ends the name, because names hold none. */
function accountLines(accounts: readonly ListedAccount[], kind: AccountKind, style: TerminalStyle): string[] {
  if (!style.isTerminal)
    return accounts.map(({ name, scope, grants = [] }) => {
      const right = scopeTexts[scope].adjective.trim()
      return [name, right, grants.join(' ')].join('\t').replace(/\t+$/, '')
    })
  const isLimited = accounts.some(({ grants }) => grants !== undefined)
  const rows = accounts.map(({ name, scope, grants }) => [
    ...[escapeHidden(name), scopeTexts[scope].cell],
    ...(isLimited ? [escapeHidden(grants?.join(' ') ?? 'all records')] : []),
  ])
  const heads = [kind.toUpperCase(), 'MAY', ...(isLimited ? ['GRANTS'] : [])]
  return alignColumns(heads, rows, style)
}

/** Prints all accounts of a kind. */
export async function showAccounts(
  accounts: readonly ListedAccount[],
  kind: AccountKind,
  { print, style }: CommandContext,
): Promise<void> {
  const lines = accountLines(accounts, kind, style)
  await shown(print(lines.map((line) => `${line}\n`).join('')), `show the ${kind}s`)
}

/** The lines of standard output with the credentials of a client. @param made A secret that nobody knows yet. */
export function clientLines(id: string, made: string | undefined): string[] {
  return [`client_id: ${id}`, ...(made === undefined ? [] : [`client_secret: ${made}`])]
}

/** @param hasMadeSecret Whether the lines may be the only place where a secret is known. */
export async function showLines(
  lines: readonly string[],
  { print }: Pick<CommandContext, 'print'>,
  hasMadeSecret = false,
): Promise<void> {
  const state = hasMadeSecret ? ': the secret is lost; rotate it again' : ''
  await shown(print(lines.map((line) => `${line}\n`).join('')), 'show what was done', state)
}

/**
 * Reads a user's password, or a client's secret if it is chosen; undefined for a secret to make.
 *
 * @throws {UsageError} for what `readPassword` refuses, and for what is easy to guess.
 */
export async function readChosen(
  { kind, name }: NamedAccount,
  isChosen: boolean,
  context: CommandContext,
): Promise<string | undefined> {
  if (kind === 'client' && !isChosen) return undefined
  const what = kindWords[kind].secret
  const prompt = kind === 'user' ? `Password for "${name}"` : `Secret of "${name}"`
  const chosen = await readPassword(what, prompt, context)
  const fault = faultOfChosen(kind, chosen, name)
  if (fault !== undefined) throw new UsageError(`Cannot use the ${what}: it ${fault}`)
  return chosen
}
