import type { AuditEvent, AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import { ATTEMPTS_WINDOW_MS } from '../limits.ts'
import type { Log, LogFields } from '../log.ts'
import { createAttemptBudget } from './attempt-budget.ts'
import type { Clock } from './clock.ts'

/** Tells log and audit trail how attempts to get in, or out, went. */
export interface AttemptLog {
  succeeded(event: AuditEvent, caller: Caller, fields: LogFields): Promise<void>
  /** Beyond the budget of listed attempts only their number is told, later. */
  failed(event: AuditEvent, caller: Caller, fields: LogFields): Promise<void>
  /** Tells the number that is still to be told. */
  close(): Promise<void>
}

export function createAttemptLog(clock: Clock, log: Log, audit: AuditTrail): AttemptLog {
  const budget = createAttemptBudget(clock)
  /** Runs while there is a number to be told. */
  let counting: NodeJS.Timeout | undefined

  function tell(level: 'info' | 'warn', event: AuditEvent, caller: Caller, fields: LogFields): Promise<void> {
    log[level](event, { ...fields, address: caller.address, request_id: caller.requestId })
    return audit.record(event, caller, fields)
  }

  async function tellCount() {
    clearTimeout(counting)
    counting = undefined
    const count = budget.settle()
    if (count === 0) return
    log.warn('attempts_not_listed', { count })
    await audit.record('attempts_not_listed', undefined, { count })
  }

  return {
    succeeded: (event, caller, fields) => tell('info', event, caller, fields),
    async failed(event, caller, fields) {
      if (budget.take(caller.address)) await tell('warn', event, caller, fields)
      else counting ??= setTimeout(tellCount, ATTEMPTS_WINDOW_MS).unref()
    },
    close: tellCount,
  }
}
