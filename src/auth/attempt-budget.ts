import { ALL_ATTEMPTS_LISTED_MAX, ATTEMPTS_LISTED_MAX, ATTEMPTS_WINDOW_MS } from '../limits.ts'
import { networkOf } from '../network.ts'
import type { Clock } from './clock.ts'

/**
 * Limits the failed attempts that are listed in each ATTEMPTS_WINDOW_MS, per network and in all: a flood must not push
 * other events out of the audit trail.
 */
export interface AttemptBudget {
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
