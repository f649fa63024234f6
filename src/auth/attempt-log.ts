import type { AuditEvent } from '../audit/audit-line.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import type { Log } from '../log.ts'
import type { EventOf } from '../log-events.ts'
import { networkOf } from '../network.ts'
import { senderOf } from '../store/authorship.ts'
import type { AccountKind } from './accounts.ts'
import type { Clock } from './clock.ts'

/** Failed attempts listed in each ATTEMPTS_WINDOW_MS: per network, and in all. */
export const ATTEMPTS_LISTED_MAX = 30
export const ALL_ATTEMPTS_LISTED_MAX = 300
export const ATTEMPTS_WINDOW_MS = 60_000
/** Logins, logouts and tokens listed in each SUCCESSES_WINDOW_MS: per account and network, per account, and in all. */
export const SUCCESSES_LISTED_MAX = 10
export const ACCOUNT_SUCCESSES_LISTED_MAX = 30
export const ALL_SUCCESSES_LISTED_MAX = 300
export const SUCCESSES_WINDOW_MS = 10 * 60_000

type Fields = { readonly [Name in 'account' | 'kind' | 'scope']?: string | undefined }

/** Whose attempt succeeded. */
interface Owner {
  readonly kind: AccountKind
  readonly name: string
}

/**
 * Records logins, logouts and token requests in the log and the audit trail. Beyond the budgets they are only counted, and
 * the counts are recorded later.
 */
export interface AttemptLog {
  succeeded(event: AuditEvent & EventOf<'info'>, caller: Caller, owner: Owner): Promise<void>
  /** @param reason For the log alone. */
  failed(event: AuditEvent & EventOf<'warn'>, caller: Caller, fields: Fields, reason?: string): Promise<void>
  /** Records the outstanding counts. */
  close(): Promise<void>
}

export function createAttemptLog(clock: Clock, log: Log, audit: Pick<AuditTrail, 'record'>): AttemptLog {
  const failures = createAttemptBudget(clock)
  const successes = createSuccessBudget(clock)
  /** Set while a count is outstanding. */
  let countingFailures: NodeJS.Timeout | undefined
  let countingSuccesses: NodeJS.Timeout | undefined

  async function recordFailures() {
    clearTimeout(countingFailures)
    countingFailures = undefined
    const count = failures.settle()
    if (count === 0) return
    log.warn('attempts_not_listed', { count })
    await audit.record('attempts_not_listed', undefined, { count })
  }

  async function recordSuccesses() {
    clearTimeout(countingSuccesses)
    countingSuccesses = undefined
    for (const { kind, account, count } of successes.settle()) {
      log.info('successes_not_listed', { kind, account, count })
      await audit.record('successes_not_listed', undefined, { kind, account, count })
    }
  }

  return {
    async succeeded(event, caller, { kind, name }) {
      if (successes.take(kind, name, caller.address)) {
        // The other events name the kind themselves.
        const fields = event === 'logged_out' ? { kind, account: name } : { account: name }
        log.info(event, withCaller(fields, caller))
        await audit.record(event, senderOf(caller), fields)
      } else countingSuccesses ??= setTimeout(recordSuccesses, SUCCESSES_WINDOW_MS).unref()
    },
    async failed(event, caller, fields, reason) {
      if (failures.take(caller.address)) {
        log.warn(event, { ...withCaller(fields, caller), reason })
        await audit.record(event, senderOf(caller), fields)
      } else countingFailures ??= setTimeout(recordFailures, ATTEMPTS_WINDOW_MS).unref()
    },
    async close() {
      await recordFailures()
      await recordSuccesses()
    },
  }
}

function withCaller(fields: Fields, { address, requestId }: Caller) {
  return { ...fields, address, request_id: requestId }
}

/**
 * Limits the failed attempts that are listed in each ATTEMPTS_WINDOW_MS, per network and in all: a flood must not push
 * other events out of the audit trail.
 */
interface AttemptBudget {
  /** Whether to list this attempt; if not, it is counted. */
  take(address: string): boolean
  /** How many attempts were not listed since the last call. */
  settle(): number
}

export function createAttemptBudget(clock: Clock): AttemptBudget {
  let windowEnd = 0
  let all = 0
  let unlisted = 0
  const listed = new Map<string, number>()

  return {
    take(address) {
      const now = clock.elapsed()
      if (now >= windowEnd) {
        windowEnd = now + ATTEMPTS_WINDOW_MS
        all = 0
        listed.clear()
      }
      const network = networkOf(address)
      const count = listed.get(network) ?? 0
      if (count >= ATTEMPTS_LISTED_MAX || all >= ALL_ATTEMPTS_LISTED_MAX) {
        unlisted += 1
        return false
      }
      listed.set(network, count + 1)
      all += 1
      return true
    },
    settle() {
      const count = unlisted
      unlisted = 0
      return count
    },
  }
}

/** Successes of an account that were not listed. */
interface UnlistedSuccesses {
  readonly kind: AccountKind
  readonly account: string
  readonly count: number
}

/**
 * Limits the logins, logouts and tokens that are listed in each SUCCESSES_WINDOW_MS: per account and network, per account,
 * and in all. So a busy network of an account does not hide its other networks, and no account pushes other events out
 * of the audit trail. The first success of each account is always listed.
 */
interface SuccessBudget {
  /** Whether to list this success; if not, it is counted. */
  take(kind: AccountKind, account: string, address: string): boolean
  /** The accounts with successes that were not listed since the last call. */
  settle(): UnlistedSuccesses[]
}

export function createSuccessBudget(clock: Clock): SuccessBudget {
  let windowEnd = 0
  let all = 0
  /** Listed in this window. */
  const byAccount = new Map<string, number>()
  const byNetwork = new Map<string, number>()
  const unlisted = new Map<string, UnlistedSuccesses>()

  return {
    take(kind, account, address) {
      const now = clock.elapsed()
      if (now >= windowEnd) {
        windowEnd = now + SUCCESSES_WINDOW_MS
        all = 0
        byAccount.clear()
        byNetwork.clear()
      }
      const key = `${kind} ${account}`
      const pair = `${networkOf(address)} ${key}`
      const ofAccount = byAccount.get(key) ?? 0
      const ofNetwork = byNetwork.get(pair) ?? 0
      const hasRoom =
        ofNetwork < SUCCESSES_LISTED_MAX &&
        ofAccount < ACCOUNT_SUCCESSES_LISTED_MAX &&
        all < ALL_SUCCESSES_LISTED_MAX
      if (ofAccount > 0 && !hasRoom) {
        unlisted.set(key, { kind, account, count: (unlisted.get(key)?.count ?? 0) + 1 })
        return false
      }
      byAccount.set(key, ofAccount + 1)
      byNetwork.set(pair, ofNetwork + 1)
      all += 1
      return true
    },
    settle() {
      const counts = [...unlisted.values()]
      unlisted.clear()
      return counts
    },
  }
}
