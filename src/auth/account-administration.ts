import { hash } from 'node:crypto'
import { type Account, type AccountKind, scopeOf } from './accounts.ts'
import type { LiveAccounts } from './live-accounts.ts'

/** What admins see of the accounts. */
export interface AccountAdministration {
  /** All of a kind, by name. */
  list(kind: AccountKind): readonly Account[]
  find(kind: AccountKind, name: string): Account | undefined
}

export function createAccountAdministration(
  accounts: Pick<LiveAccounts, 'list' | 'find'>,
): AccountAdministration {
  return {
    list: (kind) => accounts.list(kind).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    find: accounts.find,
  }
}

/**
 * The entity tag of accounts. It changes with each secret, but is not made of any: a generation is given once.
 */
export function tagOf(accounts: readonly Account[]): string {
  const states = accounts.map((account) => [account.name, account.generation, scopeOf(account)])
  return `"${hash('sha256', JSON.stringify(states), 'base64url').slice(0, 22)}"`
}
