import type { AuditEvent } from '../audit/audit-line.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import type { Log } from '../log.ts'
import type { EventOf } from '../log-events.ts'
import { networkOf } from '../network.ts'
import { senderOf } from '../store/authorship.ts'
import type { AccountKind } from './accounts.ts'
import type { Clock } from './clock.ts'
import { CountedSuccesses, type ListingLimits } from './success-budget.ts'
import { WindowCounts } from './window-counts.ts'

/** Failed attempts listed in each ATTEMPTS_WINDOW_MS: per network, and in all. */
export const ATTEMPTS_LISTED_MAX = 30
export const ALL_ATTEMPTS_LISTED_MAX = 300
export const ATTEMPTS_WINDOW_MS = 60_000
/** Logins, logouts and tokens that are listed. */
export const SUCCESSES_LISTED: ListingLimits = {
  windowMs: 10 * 60_000,
  pairMax: 10,
  accountMax: 30,
  allMax: 300,
}

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
export class AttemptLog {
  readonly #log: Log
  readonly #audit: Pick<AuditTrail, 'record'>
  readonly #failures: AttemptBudget
  readonly #successes: CountedSuccesses
  /** Set while a count is outstanding. */
  #countingFailures: NodeJS.Timeout | undefined

  constructor(clock: Clock, log: Log, audit: Pick<AuditTrail, 'record'>) {
    this.#log = log
    this.#audit = audit
    this.#failures = new AttemptBudget(clock)
    this.#successes = new CountedSuccesses(clock, SUCCESSES_LISTED, async (unlisted) => {
      log.info('successes_not_listed', { ...unlisted })
      await audit.record('successes_not_listed', undefined, { ...unlisted })
    })
  }

  async succeeded(event: AuditEvent & EventOf<'info'>, caller: Caller, { kind, name }: Owner): Promise<void> {
    if (!this.#successes.take(kind, name, caller.address)) return
    // The other events name the kind themselves.
    const fields = event === 'logged_out' ? { kind, account: name } : { account: name }
    this.#log.info(event, withCaller(fields, caller))
    await this.#audit.record(event, senderOf(caller), fields)
  }

  /** @param reason For the log alone. */
  async failed(
    event: AuditEvent & EventOf<'warn'>,
    caller: Caller,
    fields: Fields,
    reason?: string,
  ): Promise<void> {
    if (this.#failures.take(caller.address)) {
      this.#log.warn(event, { ...withCaller(fields, caller), reason })
      await this.#audit.record(event, senderOf(caller), fields)
    } else this.#countingFailures ??= setTimeout(() => this.#recordFailures(), ATTEMPTS_WINDOW_MS).unref()
  }

  /** Records the outstanding counts. */
  async close(): Promise<void> {
    await this.#recordFailures()
    await this.#successes.settle()
  }

  async #recordFailures() {
    clearTimeout(this.#countingFailures)
    this.#countingFailures = undefined
    const count = this.#failures.settle()
    if (count === 0) return
    this.#log.warn('attempts_not_listed', { count })
    await this.#audit.record('attempts_not_listed', undefined, { count })
  }
}

function withCaller(fields: Fields, { address, requestId }: Caller) {
  return { ...fields, address, request_id: requestId }
}

/**
 * Limits the failed attempts that are listed in each ATTEMPTS_WINDOW_MS, per network and in all: a flood must not push
 * other events out of the audit trail.
 */
export class AttemptBudget {
  /** Listed attempts, by network. */
  readonly #listed: WindowCounts
  #unlisted = 0

  constructor(clock: Clock) {
    this.#listed = new WindowCounts(clock, ATTEMPTS_WINDOW_MS)
  }

  /** Whether to list this attempt; if not, it is counted. */
  take(address: string): boolean {
    const network = networkOf(address)
    if (this.#listed.of(network) >= ATTEMPTS_LISTED_MAX || this.#listed.all >= ALL_ATTEMPTS_LISTED_MAX) {
      this.#unlisted += 1
      return false
    }
    this.#listed.add(network)
    return true
  }

  /** How many attempts were not listed since the last call. */
  settle(): number {
    const count = this.#unlisted
    this.#unlisted = 0
    return count
  }
}
