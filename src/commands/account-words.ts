import type { AccountKind } from '../auth/accounts.ts'
import { faultOfChosen } from '../auth/secret.ts'
import { alignColumns } from '../command-line/columns.ts'
import type { CommandContext } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { readPassword } from '../command-line/terminal.ts'
import type { TerminalStyle } from '../command-line/terminal-style.ts'
import { UsageError } from '../errors.ts'
import type { ScopeWord } from '../http/scope.ts'

// What the commands for accounts read and print, wherever the accounts are.

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

/** The scope that the flags of `add` name. @throws {UsageError} for both. */
export function scopeToAdd(options: ScopeFlags): ScopeWord {
  if (options.readOnly && options.admin) throw new UsageError('Give --read-only or --admin, not both')
  return scopeAsked(options) ?? 'write'
}

/** The scope that the flag of `set` names. @throws {UsageError} unless there is one. */
export function scopeToSet(kind: AccountKind, options: ScopeFlags): ScopeWord {
  const scope = scopeAsked(options)
  if (scope !== undefined) return scope
  const line = `connbook ${kind} set ${kind === 'user' ? 'NAME' : 'ID'}`
  throw new UsageError(`Write it as: ${line} --read-only, or: ${line} --read-write, or: ${line} --admin`)
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
}

/** A table for a terminal; otherwise a line each, where a tab ends the name, because names hold none. */
export function accountLines(
  accounts: readonly ListedAccount[],
  kind: AccountKind,
  style: TerminalStyle,
): string[] {
  if (!style.isTerminal)
    return accounts.map(({ name, scope }) => {
      const { adjective } = scopeTexts[scope]
      return adjective === '' ? name : `${name}\t${adjective.trim()}`
    })
  const rows = accounts.map(({ name, scope }) => [name, scopeTexts[scope].cell])
  return alignColumns([kind === 'user' ? 'USER' : 'CLIENT', 'MAY'], rows, style)
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
  kind: AccountKind,
  name: string,
  isChosen: boolean,
  context: CommandContext,
): Promise<string | undefined> {
  if (kind === 'client' && !isChosen) return undefined
  const what = kind === 'user' ? 'password' : 'secret'
  const prompt = kind === 'user' ? `Password for "${name}"` : `Secret of "${name}"`
  const chosen = await readPassword(what, prompt, context)
  const fault = faultOfChosen(kind, chosen, name)
  if (fault !== undefined) throw new UsageError(`Cannot use the ${what}: it ${fault}`)
  return chosen
}
