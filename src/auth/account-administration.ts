import { hash } from 'node:crypto'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { ADMIN_SCOPE, type Scope } from '../http/scope.ts'
import { senderOf } from '../store/authorship.ts'
import {
  type Account,
  type AccountKind,
  type Accounts,
  addAccount,
  changeRights,
  changeSecret,
  findAccount,
  type RightsPatch,
  removeAccount,
  scopeOf,
} from './accounts.ts'
import type { CredentialStorage } from './credential-storage.ts'
import type { Revocations } from './ended-credentials.ts'
import { describeLostAccess, type LiveAccounts } from './live-accounts.ts'
import { dummyHash, hashPassword } from './password.ts'
import { digestSecret, generateSecret } from './secret.ts'
import { queuePath } from './secret-checks.ts'

/** Accounts of all kinds together; beyond it, only the owner adds more. */
export const ACCOUNTS_MAX = 10_000

/** A secret that the caller has chosen, or one to make. */
export type WantedSecret = { readonly chosen: string } | 'made'

export interface AccountPatch extends RightsPatch {
  readonly secret?: WantedSecret
}

export interface AccountDraft {
  readonly name: string
  readonly scope: Scope
  /** As `parseGrants` gives them; absent for all records. */
  readonly grants?: readonly string[] | undefined
  readonly secret: WantedSecret
}

export interface ChangedAccount {
  readonly account: Account
  /** The secret that was made; nobody else knows it. */
  readonly secret?: string
  /** Told to the owner, who may take the last account that can do something: as `describeLostAccess` says. */
  readonly warning?: string | undefined
}

/** Whether an entity tag is one that the caller expects; undefined without conditions. */
type TagCondition = ((etag: string) => boolean) | undefined

export interface AdministrationOptions {
  readonly accounts: Pick<LiveAccounts, 'list' | 'find' | 'read' | 'change'>
  readonly revocations: Pick<Revocations, 'dropGeneration'>
  readonly audit: Pick<AuditTrail, 'record'>
  readonly commandOf: CredentialStorage['commandOf']
}

/**
 * What admins and the owner see and change of the accounts. The owner may also take the last admin. Each change is decided
 * against the accounts that are stored at that moment, and by the right that the caller still has then. It resolves once it
 * is durable, and is in the audit trail.
 */
export class AccountAdministration {
  readonly #options: AdministrationOptions
  /** By the list as it is stored: sorting ten thousand takes its time. */
  readonly #sorted = new WeakMap<readonly Account[], readonly Account[]>()

  constructor(options: AdministrationOptions) {
    this.#options = options
  }

  /** All of a kind, by name; the same array until accounts change. */
  list(kind: AccountKind): readonly Account[] {
    const stored = this.#options.accounts.list(kind)
    const known = this.#sorted.get(stored)
    if (known !== undefined) return known
    const byName = stored.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    this.#sorted.set(stored, byName)
    return byName
  }

  find(kind: AccountKind, name: string): Account | undefined {
    return this.#options.accounts.find(kind, name)
  }

  /**
   * Adds an account.
   *
   * @param request Who asks for it.
   * @throws {Problem} 409 if there is one of the name, or, but for the owner, if there are ACCOUNTS_MAX; 403.
   * @throws {OverloadedError} for a chosen secret.
   * @throws {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError}
   */
  add(
    request: Request,
    kind: AccountKind,
    { name, scope, grants, secret }: AccountDraft,
  ): Promise<ChangedAccount> {
    return this.#change(request, kind, name, secret, (found, stored) => {
      if (findAccount(found, kind, name) !== undefined)
        throw new Problem('name_taken', `Cannot add the ${kind} "${name}": there is one already`)
      if (!isOwner(request) && found.users.length + found.clients.length >= ACCOUNTS_MAX)
        throw new Problem(
          'too_many_accounts',
          `Cannot add the ${kind} "${name}": there are ${ACCOUNTS_MAX} accounts; remove one`,
        )
      return addAccount(found, kind, name, stored, scope, grants)
    })
  }

  /**
   * Changes an account; another secret ends all its sessions and tokens.
   *
   * @throws {Problem} 404; 412 if it is not as expected; 409 if no user would be an admin any more, but for the owner, or the
   *   accounts would be too long. Also as `add` does.
   * @throws {InvalidInputError} for an admin with grants.
   */
  modify(
    request: Request,
    kind: AccountKind,
    name: string,
    { secret, ...rights }: AccountPatch,
    isExpected: TagCondition,
  ): Promise<ChangedAccount> {
    return this.#change(request, kind, name, secret, (found, stored) => {
      checkExpected(found, kind, name, isExpected)
      const changed = changeRights(found, kind, name, rights)
      checkAdminLeft(request, found, changed, `Cannot change the scope of the user "${name}"`)
      return secret === undefined ? changed : changeSecret(changed, kind, name, stored)
    })
  }

  /** Removes an account, which ends all its sessions and tokens. @throws as `modify` does. */
  remove(
    request: Request,
    kind: AccountKind,
    name: string,
    isExpected: TagCondition,
  ): Promise<ChangedAccount> {
    return this.#change(request, kind, name, undefined, (found) => {
      checkExpected(found, kind, name, isExpected)
      const rest = removeAccount(found, kind, name)
      checkAdminLeft(request, found, rest, `Cannot remove the user "${name}"`)
      return rest
    })
  }

  /** @param decide Gets the secret as it is to be stored. */
  async #change(
    request: Request,
    kind: AccountKind,
    name: string,
    secret: WantedSecret | undefined,
    decide: (found: Accounts, stored: string) => Accounts,
  ): Promise<ChangedAccount> {
    const { accounts, revocations, audit, commandOf } = this.#options
    const isChosen = typeof secret === 'object'
    // So that what is refused costs no hash.
    if (isChosen) decide(await accounts.read(), dummyHash)
    const made = secret === 'made' ? generateSecret() : undefined
    const stored = isChosen
      ? await hashPassword(secret.chosen, queuePath(request, true), 'thread')
      : digestSecret(made ?? '')
    const { before, after, lines } = await accounts.change(
      'Cannot change the account',
      kind,
      name,
      (found) => {
        request.checkAgain?.()
        return decide(found, stored)
      },
    )
    const [was, is] = [findAccount(before, kind, name), findAccount(after, kind, name)]
    if (was !== undefined && was.generation !== is?.generation) revocations.dropGeneration(was.generation)
    for (const { event, fields } of lines) await audit.record(event, senderOf(request), fields)
    // A removed account is of no use to anybody.
    const account = is ?? was
    if (account === undefined) throw new Error(`The ${kind} that was changed is not there`)
    const warning = isOwner(request) ? describeLostAccess(before, after, commandOf) : undefined
    return { account, warning, ...(made === undefined ? {} : { secret: made }) }
  }
}

/** @throws {Problem} 404 for an unknown account, 412 if the account has changed. */
function checkExpected(found: Accounts, kind: AccountKind, name: string, isExpected: TagCondition): void {
  const account = findAccount(found, kind, name)
  if (account === undefined) throw unknownAccount(kind, name)
  if (isExpected !== undefined && !isExpected(tagOf([account])))
    throw new Problem(
      'stale_record',
      `The ${kind} "${name}" is not the one that the condition names; read it again`,
    )
}

function isOwner({ principal }: Request): boolean {
  return principal?.kind === 'command'
}

/** @throws {Problem} 409 if the change would take the last user who can manage accounts, and the owner does not ask for it. */
function checkAdminLeft(request: Request, before: Accounts, after: Accounts, what: string): void {
  const hasAdminUser = ({ users }: Accounts) => users.some((user) => scopeOf(user) === ADMIN_SCOPE)
  if (isOwner(request) || !hasAdminUser(before) || hasAdminUser(after)) return
  throw new Problem('last_admin', `${what}: no other user is an admin; make another one an admin first`)
}

export function unknownAccount(kind: AccountKind, name: string): Problem {
  return new Problem('unknown_account', `There is no ${kind} "${name}"`)
}

/** The entity tag of accounts. It changes with each secret, but is not made of any: a generation is given once. */
export function tagOf(accounts: readonly Account[]): string {
  const states = accounts.map((account) => {
    const { name, generation, grants = [] } = account
    return [name, generation, scopeOf(account), ...grants]
  })
  return `"${hash('sha256', JSON.stringify(states), 'base64url').slice(0, 22)}"`
}
