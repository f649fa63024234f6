import type { AuditEvent, AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import { ATTEMPTS_WINDOW_MS } from '../limits.ts'
import type { Log, LogFields } from '../log.ts'
import { createAttemptBudget } from './attempt-budget.ts'
import type { Clock } from './clock.ts'

/** Records logins, logouts and token requests in the log and the audit trail. */
export interface AttemptLog {
  succeeded(event: AuditEvent, caller: Caller, fields: LogFields): Promise<void>
  /** Beyond the budget, attempts are only counted, and their count is recorded later. */
  failed(event: AuditEvent, caller: Caller, fields: LogFields): Promise<void>
  /** Records the outstanding count. */
  close(): Promise<void>
}

export function createAttemptLog(clock: Clock, log: Log, audit: AuditTrail): AttemptLog {
  const budget = createAttemptBudget(clock)
  /** Set while a count is outstanding. */
  let counting: NodeJS.Timeout | undefined

  function record(
    level: 'info' | 'warn',
    event: AuditEvent,
    caller: Caller,
    fields: LogFields,
  ): Promise<void> {
    log[level](event, { ...fields, address: caller.address, request_id: caller.requestId })
    return audit.record(event, caller, fields)
  }

  async function recordCount() {
    clearTimeout(counting)
    counting = undefined
    const count = budget.settle()
    if (count === 0) return
    log.warn('attempts_not_listed', { count })
    await audit.record('attempts_not_listed', undefined, { count })
  }

  return {
    succeeded: (event, caller, fields) => record('info', event, caller, fields),
    async failed(event, caller, fields) {
      if (budget.take(caller.address)) await record('warn', event, caller, fields)
      else counting ??= setTimeout(recordCount, ATTEMPTS_WINDOW_MS).unref()
    },
    close: recordCount,
  }
}
