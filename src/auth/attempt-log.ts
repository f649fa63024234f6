import type { AuditEvent } from '../audit/audit-event.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import { ATTEMPTS_WINDOW_MS, SUCCESSES_WINDOW_MS } from '../limits.ts'
import type { Log } from '../log.ts'
import type { EventOf } from '../log-events.ts'
import { senderOf } from '../store/actor.ts'
import type { AccountKind } from './accounts.ts'
import { createAttemptBudget } from './attempt-budget.ts'
import type { Clock } from './clock.ts'
import { createSuccessBudget } from './success-budget.ts'

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
