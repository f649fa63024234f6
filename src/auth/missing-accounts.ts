import { FULL_SCOPE } from '../http/scope.ts'
import type { Log } from '../log.ts'
import { type Accounts, scopeOf } from './accounts.ts'

/**
 * What nobody can do with these accounts; undefined if some account can change records, or if a first start is still to
 * add one.
 */
export function findMissingAccess({ users, clients, isPrepared }: Accounts): 'log_in' | 'change' | undefined {
  if (isPrepared) return undefined
  const accounts = [...users, ...clients]
  if (accounts.length === 0) return 'log_in'
  return accounts.some((account) => scopeOf(account) === FULL_SCOPE) ? undefined : 'change'
}

/** Logs it when nobody can log in, or change records. @param addingCommand As in `CredentialStorage`. */
export function warnOfMissingAccess(accounts: Accounts, addingCommand: string, log: Log): void {
  const missing = findMissingAccess(accounts)
  const remedy = `run: ${addingCommand}`
  if (missing === 'log_in') log.warn('nobody_can_log_in', { remedy })
  if (missing === 'change') log.warn('nobody_can_change', { remedy })
}
