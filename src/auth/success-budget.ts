import { networkOf } from '../network.ts'
import type { AccountKind } from './accounts.ts'
import type { Clock } from './clock.ts'
import { WindowCounts } from './window-counts.ts'

/** How many calls that succeed are listed in each window of time. */
export interface ListingLimits {
  readonly windowMs: number
  /** Per account and network. */
  readonly pairMax: number
  readonly accountMax: number
  readonly allMax: number
}

/** Calls of an account that succeeded and were not listed. */
export interface UnlistedSuccesses {
  readonly kind: AccountKind
  readonly account: string
  readonly count: number
}

/**
 * Limits the calls that succeed, cost their caller little and are listed: per account and network, per account, and in
 * all. So a busy network of an account does not hide its other networks, and no account pushes other events out of the
 * audit trail. The first success of each account is always listed.
 */
export class SuccessBudget {
  readonly #limits: ListingLimits
  /** Listed successes, by account, and by account and network. */
  readonly #listed: WindowCounts
  readonly #unlisted = new Map<string, UnlistedSuccesses>()

  constructor(clock: Pick<Clock, 'elapsed'>, limits: ListingLimits) {
    this.#limits = limits
    this.#listed = new WindowCounts(clock, limits.windowMs)
  }

  /** Whether to list this success; if not, it is counted. */
  take(kind: AccountKind, account: string, address: string): boolean {
    const { pairMax, accountMax, allMax } = this.#limits
    const key = `${kind} ${account}`
    // No name of an account holds a NUL.
    const pair = `${key}\0${networkOf(address)}`
    const ofAccount = this.#listed.of(key)
    const hasRoom = this.#listed.of(pair) < pairMax && ofAccount < accountMax && this.#listed.all < allMax
    if (ofAccount > 0 && !hasRoom) {
      this.#unlisted.set(key, { kind, account, count: (this.#unlisted.get(key)?.count ?? 0) + 1 })
      return false
    }
    this.#listed.add(key, pair)
    return true
  }

  /** The accounts with successes that were not listed since the last call. */
  settle(): UnlistedSuccesses[] {
    const counts = [...this.#unlisted.values()]
    this.#unlisted.clear()
    return counts
  }
}

/** A budget whose counts are recorded: a window after the first call that was not listed, and at the end. */
export class CountedSuccesses {
  readonly #limits: ListingLimits
  readonly #budget: SuccessBudget
  readonly #record: (unlisted: UnlistedSuccesses) => Promise<void>
  /** Set while a count is outstanding. */
  #counting: NodeJS.Timeout | undefined

  /** @param record Must not reject. */
  constructor(
    clock: Pick<Clock, 'elapsed'>,
    limits: ListingLimits,
    record: (unlisted: UnlistedSuccesses) => Promise<void>,
  ) {
    this.#limits = limits
    this.#budget = new SuccessBudget(clock, limits)
    this.#record = record
  }

  /** As `SuccessBudget.take`. */
  take(kind: AccountKind, account: string, address: string): boolean {
    if (this.#budget.take(kind, account, address)) return true
    this.#counting ??= setTimeout(() => this.settle(), this.#limits.windowMs).unref()
    return false
  }

  /** Records the outstanding counts. */
  async settle(): Promise<void> {
    clearTimeout(this.#counting)
    this.#counting = undefined
    for (const unlisted of this.#budget.settle()) await this.#record(unlisted)
  }
}
