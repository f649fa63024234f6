import type { AccountDraft, AccountPatch, WantedSecret } from '../auth/account-administration.ts'
import { type AccountKind, faultOfName } from '../auth/accounts.ts'
import { faultOfChosen } from '../auth/secret.ts'
import { type Fault, InvalidInputError } from '../errors.ts'
import { ADMIN_SCOPE, isScopeWord, type Scope, scopeFor, scopeWords, WRITE_SCOPE } from '../http/scope.ts'
import { readGrants } from '../store/grants.ts'
import { eitherOf, kindOf } from '../text.ts'

type Body = Readonly<Record<string, unknown>>

/** The member that holds the secret of each kind. */
export const secretMembers = { user: 'password', client: 'secret' } as const

/** An account to add. @throws {InvalidInputError} with all faults. */
export function parseNewAccount(kind: AccountKind, body: Body): AccountDraft {
  const { name, kind: sentKind = kind } = body
  const faults: Fault[] = []
  const fault = name === undefined ? 'is missing' : faultOfNew(kind, name)
  if (fault !== undefined) faults.push({ field: 'name', detail: fault })
  if (sentKind !== kind) faults.push({ field: 'kind', detail: `must be "${kind}" here, or be left out` })
  const scope = parseScopeWord(body, faults)
  const grants = parseGrantsOf(body, faults)
  if (grants !== undefined && scope === ADMIN_SCOPE)
    faults.push({ field: 'grants', detail: 'must be left out for an admin, who can lift every limit' })
  const text = typeof name === 'string' ? name : ''
  const secret = parseSecret(kind, body, text, faults)
  if (kind === 'user' && secret === undefined && !Object.hasOwn(body, 'password'))
    faults.push({ field: 'password', detail: 'is missing' })
  checkMembers(kind, body, ['name', 'kind', 'scope', 'grants', secretMembers[kind]], faults)
  if (faults.length > 0) throw new InvalidInputError('The account is not valid', faults)
  return { name: text, scope: scope ?? WRITE_SCOPE, grants, secret: secret ?? 'made' }
}

/** What to change of an account. @throws {InvalidInputError} with all faults. */
export function parseAccountPatch(kind: AccountKind, name: string, body: Body): AccountPatch {
  const faults: Fault[] = []
  for (const [field, value] of Object.entries({ name, kind }))
    if (Object.hasOwn(body, field) && body[field] !== value)
      faults.push({ field, detail: `must be "${value}", or be left out; it cannot be changed` })
  const scope = parseScopeWord(body, faults)
  const grants = body.grants === null ? null : parseGrantsOf(body, faults)
  const chosen = parseSecret(kind, body, name, faults)
  const secret = parseRotate(kind, body, faults) ? 'made' : chosen
  checkMembers(kind, body, ['name', 'kind', 'scope', 'grants', secretMembers[kind], 'rotate'], faults)
  if (faults.length > 0) throw new InvalidInputError('The change of the account is not valid', faults)
  return { scope, grants, ...(secret === undefined ? {} : { secret }) }
}

function faultOfNew(kind: AccountKind, name: unknown): string | undefined {
  // No URL could name it.
  if (name === '.' || name === '..') return 'must not be "." or ".."'
  return faultOfName(kind, name)
}

function parseScopeWord(body: Body, faults: Fault[]): Scope | undefined {
  if (!Object.hasOwn(body, 'scope')) return undefined
  if (isScopeWord(body.scope)) return scopeFor(body.scope)
  faults.push({ field: 'scope', detail: `must be ${eitherOf(scopeWords)}` })
  return undefined
}

function parseGrantsOf(body: Body, faults: Fault[]): readonly string[] | undefined {
  if (!Object.hasOwn(body, 'grants')) return undefined
  return readGrants(body.grants, (detail) => faults.push({ field: 'grants', detail }))
}

function parseSecret(kind: AccountKind, body: Body, name: string, faults: Fault[]): WantedSecret | undefined {
  const field = secretMembers[kind]
  if (!Object.hasOwn(body, field)) return undefined
  const secret = body[field]
  const detail =
    typeof secret !== 'string'
      ? `must be a string, not ${kindOf(secret)}`
      : secret.isWellFormed()
        ? faultOfChosen(kind, secret, name)
        : 'must be valid Unicode'
  if (detail !== undefined) faults.push({ field, detail })
  return detail === undefined ? { chosen: String(secret) } : undefined
}

/** Whether a new secret is asked for. */
function parseRotate(kind: AccountKind, body: Body, faults: Fault[]): boolean {
  if (!Object.hasOwn(body, 'rotate')) return false
  const detail =
    kind === 'user'
      ? 'is of clients only; give a user a password'
      : body.rotate !== true
        ? 'must be true, or be left out'
        : Object.hasOwn(body, 'secret')
          ? 'must be left out beside a secret'
          : undefined
  if (detail !== undefined) faults.push({ field: 'rotate', detail })
  return detail === undefined
}

function checkMembers(kind: AccountKind, body: Body, known: readonly string[], faults: Fault[]): void {
  const other = kind === 'user' ? secretMembers.client : secretMembers.user
  for (const field of Object.keys(body)) {
    if (known.includes(field)) continue
    const detail =
      field === other
        ? `is not of a ${kind}, which has a ${secretMembers[kind]}`
        : `is not a member of a ${kind}: ${eitherOf(known)}`
    faults.push({ field, detail })
  }
}
