import { isIPv6 } from 'node:net'
import { TooManyAttemptsError } from '../errors.ts'
import {
  FREE_FAILURES,
  THROTTLE_MEMORY_MS,
  THROTTLE_PAIRS_MAX,
  THROTTLE_PAUSE_MS_MAX,
  THROTTLE_PAUSE_MS_MIN,
} from '../limits.ts'
import type { Clock } from './clock.ts'

interface Pair {
  failures: number
  /** Both on the clock's `elapsed`. */
  lastFailure: number
  blockedUntil: number
}

/** Counts failed attempts for each pair of address and account, so that nobody can lock another out. */
export interface Throttle {
  /**
   * To be called before the secret is looked at. The attempt counts as failed until `succeed` is called, so attempts
   * made at once are no way round.
   *
   * @param account Name of the account with its kind in front.
   * @throws {TooManyAttemptsError} while the pair has to pause.
   */
  attempt(address: string, account: string): void
  /** Forgets the failures of the pair. */
  succeed(address: string, account: string): void
  /** Takes back one attempt that was not decided, because the check itself could not be made. */
  cancel(address: string, account: string): void
}

export function createThrottle(clock: Clock): Throttle {
  // In the order of the last failure, so the first is the one longest unseen.
  const pairs = new Map<string, Pair>()

  return {
    attempt(address, account) {
      const now = clock.elapsed()
      const key = keyOf(address, account)
      let pair = pairs.get(key)
      if (pair !== undefined && now - pair.lastFailure >= THROTTLE_MEMORY_MS) pair = undefined
      if (pair !== undefined && now < pair.blockedUntil) {
        const seconds = Math.ceil((pair.blockedUntil - now) / 1000)
        throw new TooManyAttemptsError(`Too many failed attempts; try again in ${seconds} s`, seconds)
      }
      pair ??= { failures: 0, lastFailure: now, blockedUntil: 0 }
      pair.failures += 1
      pair.lastFailure = now
      if (pair.failures >= FREE_FAILURES) pair.blockedUntil = now + pauseAfter(pair.failures)
      pairs.delete(key)
      pairs.set(key, pair)
      forgetOldest()
    },
    succeed(address, account) {
      pairs.delete(keyOf(address, account))
    },
    cancel(address, account) {
      const pair = pairs.get(keyOf(address, account))
      if (pair === undefined) return
      pair.failures -= 1
      if (pair.failures < FREE_FAILURES) pair.blockedUntil = 0
    },
  }

  function forgetOldest() {
    if (pairs.size <= THROTTLE_PAIRS_MAX) return
    for (const key of pairs.keys()) {
      pairs.delete(key)
      return
    }
  }
}

function pauseAfter(failures: number): number {
  return Math.min(THROTTLE_PAUSE_MS_MIN * 2 ** (failures - FREE_FAILURES), THROTTLE_PAUSE_MS_MAX)
}

function keyOf(address: string, account: string): string {
  return `${networkOf(address)} ${account}`
}

/** One customer has a whole /64 of IPv6 addresses, so they count as one. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const behind = tail === '' ? 0 : tail.split(':').length
    while (groups.length < 8 - behind) groups.push('0')
  }
  return groups.slice(0, 4).join(':')
}
