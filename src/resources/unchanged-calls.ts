import { type AuditTrail, recordIfUnchanged } from '../audit/audit-trail.ts'
import type { Clock } from '../auth/clock.ts'
import { CountedSuccesses, type ListingLimits } from '../auth/success-budget.ts'
import type { Actor, Notes } from '../store/authorship.ts'

/** Calls to change many records, imports too, that change nothing, and are listed all the same. */
export const UNCHANGED_LISTED: ListingLimits = {
  windowMs: 60 * 60_000,
  pairMax: 10,
  accountMax: 20,
  allMax: 100,
}

/**
 * Records calls to change many records that changed nothing. They cost their caller nothing, and need no right to any
 * record, so beyond a budget they are only counted. What a command on this machine did is always listed.
 */
export class UnchangedCalls {
  readonly #audit: Pick<AuditTrail, 'record'>
  readonly #listed: CountedSuccesses

  constructor(clock: Pick<Clock, 'elapsed'>, audit: Pick<AuditTrail, 'record'>) {
    this.#audit = audit
    this.#listed = new CountedSuccesses(clock, UNCHANGED_LISTED, (unlisted) =>
      audit.record('unchanged_not_listed', undefined, { ...unlisted }),
    )
  }

  /** Does nothing for a call that changed something: the trail hears of it when it is durable. */
  async record(actor: Actor, notes: Notes): Promise<void> {
    await recordIfUnchanged(this.#audit, actor, notes, () => this.#isListed(actor))
  }

  #isListed(actor: Actor): boolean {
    if ('command' in actor || actor.principal === undefined) return true
    const { principal, address = '' } = actor
    return this.#listed.take(principal.kind, principal.name, address)
  }

  /** Records the outstanding counts. */
  close(): Promise<void> {
    return this.#listed.settle()
  }
}
