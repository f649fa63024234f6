import { Counter } from '../metrics/counter.ts'
import type { Family } from '../metrics/family.ts'
import type { AccountKind } from './accounts.ts'

/** Attempts by outcome. */
export type LoginCounters = Readonly<ReturnType<typeof createOutcomes>>

function createOutcomes() {
  return { ok: new Counter(), failed: new Counter(), throttled: new Counter(), not_checked: new Counter() }
}

export function createLoginCounters(): Record<AccountKind, LoginCounters> {
  return { user: createOutcomes(), client: createOutcomes() }
}

export function loginMetrics(counters: Readonly<Record<AccountKind, LoginCounters>>): Family[] {
  return [
    {
      name: 'connbook_logins_total',
      help: 'Checks of the password of a user or the secret of a client, for a login, a token, its revocation or a new password, by outcome: ok, failed, throttled (after too many failures) or not_checked (too many were waiting, or no thread could be started for them).',
      type: 'counter',
      labels: ['kind', 'outcome'],
      samples: () =>
        Object.entries(counters).flatMap(([kind, byOutcome]) =>
          Object.entries(byOutcome).map(([outcome, counter]) => ({
            labels: { kind, outcome },
            value: counter.value,
          })),
        ),
    },
  ]
}
