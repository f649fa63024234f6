import { Counter } from '../metrics/counter.ts'
import type { Family } from '../metrics/family.ts'
import type { AccountKind } from './accounts.ts'

/** Attempts by outcome. */
export class LoginCounters {
  readonly ok = new Counter()
  readonly failed = new Counter()
  readonly throttled = new Counter()
  readonly not_checked = new Counter()
}

export function createLoginCounters(): Record<AccountKind, LoginCounters> {
  return { user: new LoginCounters(), client: new LoginCounters() }
}

export function loginMetrics(counters: Readonly<Record<AccountKind, LoginCounters>>): Family[] {
  return [
    {
      name: 'connbook_logins_total',
      help: 'Logins of users and token requests of clients: ok, failed, throttled after failures, or not checked for too much to do.',
      type: 'counter',
      samples: () =>
        Object.entries(counters).flatMap(([kind, byOutcome]: [string, LoginCounters]) =>
          Object.entries(byOutcome).map(([outcome, counter]: [string, Counter]) => ({
            labels: { kind, outcome },
            value: counter.value,
          })),
        ),
    },
  ]
}
