import { hash } from 'node:crypto'
import { OverloadedError, TooManyAttemptsError } from '../errors.ts'
import {
  FREE_FAILURES,
  THROTTLE_MEMORY_MS,
  THROTTLE_PAIRS_MAX,
  THROTTLE_PAUSE_MS_MAX,
  THROTTLE_PAUSE_MS_MIN,
} from '../limits.ts'
import { networkOf } from '../network.ts'
import type { Clock } from './clock.ts'

interface Pair {
  /** Failed attempts since the last success. */
  failures: number
  /** Attempts being checked. */
  pending: number
  /** In `elapsed` of the clock, as is `blockedUntil`. */
  lastAttempt: number
  blockedUntil: number
}

/** An attempt being checked. Call exactly one of its methods, once. */
export interface Attempt {
  /** The secret was right: forgets the failures of the pair. */
  succeed(): void
  /** The secret was wrong: counts a failure. */
  fail(): void
  /** The secret was not checked: the attempt does not count. */
  cancel(): void
}

/** Counts failed attempts for each pair of address and account, so that nobody can lock another out. */
export interface Throttle {
  /**
   * Call it before checking a secret.
   *
   * @param stored The secret as it is stored, so that a new secret begins without failures; undefined for an unknown
   *   account.
   * @throws {TooManyAttemptsError} while the pair is blocked.
   * @throws {OverloadedError} while as many attempts of the pair are being checked as may fail without a pause.
   */
  begin(address: string, account: string, stored?: string): Attempt
}

export function createThrottle(clock: Clock): Throttle {
  // By time of the last attempt, oldest first.
  const pairs = new Map<string, Pair>()

  return {
    begin(address, account, stored = '') {
      const now = clock.elapsed()
      // Hashed, so that a long made-up name costs no memory.
      const key = `${networkOf(address)} ${hash('sha256', `${account}\0${stored}`, 'base64url')}`
      let pair = pairs.get(key)
      if (pair?.pending === 0 && now - pair.lastAttempt >= THROTTLE_MEMORY_MS) pair = undefined
      pair ??= { failures: 0, pending: 0, lastAttempt: now, blockedUntil: 0 }
      checkAdmitted(pair, now)
      pair.pending += 1
      pair.lastAttempt = now
      pairs.delete(key)
      pairs.set(key, pair)
      if (pairs.size > THROTTLE_PAIRS_MAX) forgetOne(now)
      return attemptOf(key, pair)
    },
  }

  function attemptOf(key: string, pair: Pair): Attempt {
    const end = (failures: number) => {
      pair.pending -= 1
      pair.failures = failures
      if (failures === 0 && pair.pending === 0 && pairs.get(key) === pair) pairs.delete(key)
    }
    return {
      succeed: () => end(0),
      fail() {
        end(pair.failures + 1)
        if (pair.failures >= FREE_FAILURES) pair.blockedUntil = clock.elapsed() + pauseAfter(pair.failures)
      },
      cancel: () => end(pair.failures),
    }
  }

  /** Spares blocked pairs, if it can, so that a flood of other names ends no pause early. */
  function forgetOne(now: number) {
    const [oldest = ''] = pairs.keys()
    const idle = pairs.entries().find(([, pair]) => pair.pending === 0 && now >= pair.blockedUntil)
    pairs.delete(idle?.[0] ?? oldest)
  }
}

function checkAdmitted(pair: Pair, now: number) {
  if (now < pair.blockedUntil) {
    const seconds = Math.ceil((pair.blockedUntil - now) / 1000)
    throw new TooManyAttemptsError(`Too many failed attempts; try again in ${seconds} s`, seconds)
  }
  if (pair.pending >= Math.max(1, FREE_FAILURES - pair.failures)) {
    throw new OverloadedError('Too many attempts for this account are being checked; try again in a moment')
  }
}

function pauseAfter(failures: number): number {
  return Math.min(THROTTLE_PAUSE_MS_MIN * 2 ** (failures - FREE_FAILURES), THROTTLE_PAUSE_MS_MAX)
}
