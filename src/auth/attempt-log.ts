import type { AuditEvent } from '../audit/audit-event.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import { ATTEMPTS_WINDOW_MS } from '../limits.ts'
import type { Log } from '../log.ts'
import type { EventOf } from '../log-events.ts'
import { createAttemptBudget } from './attempt-budget.ts'
import type { Clock } from './clock.ts'

type Fields = { readonly [Name in 'account' | 'kind' | 'scope']?: string | undefined }

/** Records logins, logouts and token requests in the log and the audit trail. */
export interface AttemptLog {
  succeeded(event: AuditEvent & EventOf<'info'>, caller: Caller, fields: Fields): Promise<void>
  /** Beyond the budget, attempts are only counted, and their count is recorded later. */
  failed(event: AuditEvent & EventOf<'warn'>, caller: Caller, fields: Fields): Promise<void>
  /** Records the outstanding count. */
  close(): Promise<void>
}

export function createAttemptLog(clock: Clock, log: Log, audit: Pick<AuditTrail, 'record'>): AttemptLog {
  const budget = createAttemptBudget(clock)
  /** Set while a count is outstanding. */
  let counting: NodeJS.Timeout | undefined

  async function recordCount() {
    clearTimeout(counting)
    counting = undefined
    const count = budget.settle()
    if (count === 0) return
    log.warn('attempts_not_listed', { count })
    await audit.record('attempts_not_listed', undefined, { count })
  }

  return {
    succeeded(event, caller, fields) {
      log.info(event, withCaller(fields, caller))
      return audit.record(event, caller, fields)
    },
    async failed(event, caller, fields) {
      if (budget.take(caller.address)) {
        log.warn(event, withCaller(fields, caller))
        await audit.record(event, caller, fields)
      } else counting ??= setTimeout(recordCount, ATTEMPTS_WINDOW_MS).unref()
    },
    close: recordCount,
  }
}

function withCaller(fields: Fields, { address, requestId }: Caller) {
  return { ...fields, address, request_id: requestId }
}
