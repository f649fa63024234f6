import {
  ACCOUNT_SUCCESSES_LISTED_MAX,
  ALL_SUCCESSES_LISTED_MAX,
  SUCCESSES_LISTED_MAX,
  SUCCESSES_WINDOW_MS,
} from '../limits.ts'
import { networkOf } from '../network.ts'
import type { AccountKind } from './accounts.ts'
import type { Clock } from './clock.ts'

/** Successes of an account that were not listed. */
export interface UnlistedSuccesses {
  readonly kind: AccountKind
  readonly account: string
  readonly count: number
}

/**
 * Limits the logins, logouts and tokens that are listed in each SUCCESSES_WINDOW_MS: per account and network, per account,
 * and in all. So a busy network of an account does not hide its other networks, and no account pushes other events out
 * of the audit trail. The first success of each account is always listed.
 */
export interface SuccessBudget {
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
