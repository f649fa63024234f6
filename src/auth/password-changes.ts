import { Problem } from '../http/problem.ts'
import { PASSWORD_CHANGES_MAX, PASSWORD_CHANGES_WINDOW_MS } from '../limits.ts'
import type { Clock } from './clock.ts'

/**
 * Limits how often each user changes the password: each change writes the accounts file, and a line of the audit trail
 * that must not push out the lines of others.
 */
export interface PasswordChanges {
  /** Counts a change. @throws {Problem} 503 for more than PASSWORD_CHANGES_MAX in a PASSWORD_CHANGES_WINDOW_MS. */
  take(user: string): void
}

export function createPasswordChanges(clock: Pick<Clock, 'elapsed'>): PasswordChanges {
  let windowEnd = 0
  const counts = new Map<string, number>()

  return {
    take(user) {
      const now = clock.elapsed()
      if (now >= windowEnd) {
        windowEnd = now + PASSWORD_CHANGES_WINDOW_MS
        counts.clear()
      }
      const count = counts.get(user) ?? 0
      if (count >= PASSWORD_CHANGES_MAX) {
        const seconds = String(Math.ceil((windowEnd - now) / 1000))
        const message = `Cannot change the password: it was changed too often; try again in ${seconds} s`
        throw new Problem('overloaded', message, { headers: { 'Retry-After': seconds } })
      }
      counts.set(user, count + 1)
    },
  }
}
