import { hash } from 'node:crypto'
import { OverloadedError, TooManyAttemptsError } from '../errors.ts'
import { networksOf } from '../network.ts'
import type { Clock } from './clock.ts'

/** Failed attempts without a pause, for each account: from an IPv4 address or a /64 of IPv6. */
export const FREE_FAILURES = 10
/** The same from a /24 of IPv4 or a /56 of IPv6, and from a /48. */
export const WIDER_FREE_FAILURES = [40, 160] as const
/** The pause after the last free failure; each further failure doubles it. */
export const THROTTLE_PAUSE_MS_MIN = 30_000
export const THROTTLE_PAUSE_MS_MAX = 15 * 60_000
/** After this time without an attempt, failures are forgotten. */
export const THROTTLE_MEMORY_MS = 60 * 60_000
/**
 * Pairs of network and account that are watched, three for an address of IPv6; beyond it old ones that are not blocked are
 * forgotten.
 */
export const THROTTLE_PAIRS_MAX = 30_000
/** Those with the fewest failures of twice as many old ones. */
const THROTTLE_FORGOTTEN_AT_ONCE = 500

/** A network and an account. */
interface Pair {
  readonly key: string
  /** Failures without a pause. */
  readonly free: number
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
  /** The secret was right: forgets the failures of the account from this address. */
  succeed(): void
  /** The secret was wrong: counts a failure. */
  fail(): void
  /** The secret was not checked: the attempt does not count. */
  cancel(): void
}

export interface AttemptOptions {
  /** The secret as it is stored, so that a new secret begins without failures; not given for an unknown account. */
  readonly stored?: string | undefined
  /** Whether the account has lately logged in from the network: then failures of its neighbours do not count. */
  readonly isKnown?: boolean
}

const FREE_BY_WIDTH = [FREE_FAILURES, ...WIDER_FREE_FAILURES]

/**
 * Counts failed attempts for each account and network, so that nobody can lock another out, and for each account and wider
 * network, so that nobody gets more guesses by changing the address.
 */
export class Throttle {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** By time of the last attempt, oldest first. */
  readonly #pairs = new Map<string, Pair>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /**
   * Call it before checking a secret.
   *
   * @throws {TooManyAttemptsError} while one of the networks is blocked for the account.
   * @throws {OverloadedError} while as many attempts are being checked as may fail without a pause.
   */
  begin(address: string, account: string, { stored = '', isKnown = false }: AttemptOptions = {}): Attempt {
    const now = this.#clock.elapsed()
    // Hashed, so that a long made-up name costs no memory.
    const id = hash('sha256', `${account}\0${stored}`, 'base64url')
    const networks = networksOf(address).toReversed()
    const all = FREE_BY_WIDTH.slice(0, isKnown ? 1 : networks.length).map((free, i) =>
      this.#pairOf(`${networks[i]} ${id}`, free, now),
    )
    checkAdmitted(all, now)
    for (const pair of all) {
      pair.pending += 1
      pair.lastAttempt = now
      this.#pairs.delete(pair.key)
      this.#pairs.set(pair.key, pair)
      if (this.#pairs.size > THROTTLE_PAIRS_MAX) this.#forgetSome(now)
    }
    return {
      succeed: () => this.#end(all, -(all[0]?.failures ?? 0)),
      fail: () => this.#fail(all),
      cancel: () => this.#end(all, 0),
    }
  }

  #pairOf(key: string, free: number, now: number): Pair {
    const pair = this.#pairs.get(key)
    const isForgotten = pair?.pending === 0 && now - pair.lastAttempt >= THROTTLE_MEMORY_MS
    if (pair !== undefined && !isForgotten) return pair
    return { key, free, failures: 0, pending: 0, lastAttempt: now, blockedUntil: 0 }
  }

  #fail(all: readonly Pair[]) {
    this.#end(all, 1)
    for (const pair of all)
      if (pair.failures >= pair.free) pair.blockedUntil = this.#clock.elapsed() + pauseOf(pair)
  }

  /** @param all The pair of the own network first. @param change Added to the failures of each. */
  #end(all: readonly Pair[], change: number) {
    for (const pair of all) {
      pair.pending -= 1
      pair.failures = Math.max(0, pair.failures + change)
      if (pair.failures === 0 && pair.pending === 0 && this.#pairs.get(pair.key) === pair)
        this.#pairs.delete(pair.key)
    }
  }

  /**
   * Spares blocked pairs, if it can, and of old ones the half with most failures: a flood of other names ends no pause
   * early, and clears no count. Many at once, because each look at the oldest takes time.
   */
  #forgetSome(now: number) {
    const idle = this.#pairs
      .values()
      .filter(({ pending, blockedUntil }) => pending === 0 && now >= blockedUntil)
    const oldest = idle.take(2 * THROTTLE_FORGOTTEN_AT_ONCE).toArray()
    const [first = ''] = this.#pairs.keys()
    if (oldest.length === 0) this.#pairs.delete(first)
    const fewestFirst = oldest.toSorted((one, other) => one.failures - other.failures)
    for (const { key } of fewestFirst.slice(0, THROTTLE_FORGOTTEN_AT_ONCE)) this.#pairs.delete(key)
  }
}

function checkAdmitted(all: readonly Pair[], now: number) {
  const blockedUntil = Math.max(...all.map((pair) => pair.blockedUntil))
  if (now < blockedUntil) {
    const seconds = Math.ceil((blockedUntil - now) / 1000)
    throw new TooManyAttemptsError(`Too many failed attempts; try again in ${seconds} s`, seconds)
  }
  if (all.some(({ pending, free, failures }) => pending >= Math.max(1, free - failures))) {
    throw new OverloadedError('Too many attempts for this account are being checked; try again in a moment')
  }
}

function pauseOf({ failures, free }: Pair): number {
  return Math.min(THROTTLE_PAUSE_MS_MIN * 2 ** (failures - free), THROTTLE_PAUSE_MS_MAX)
}
