import { WAITING_CALLS_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import { type Family, gauge } from '../metrics/family.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { EventStreams } from './event-streams.ts'
import type { StateGuard } from './state-guard.ts'
import { WaitingCalls } from './waiting-calls.ts'
import { WaitingPolls } from './waiting-polls.ts'

/** The event streams and long polls that wait for changes of a store. */
export interface Subscriptions {
  readonly streams: EventStreams
  readonly polls: WaitingPolls
  readonly metrics: readonly Family[]
  /** Ends all that waits, and refuses more. */
  close(): void
}

/** @param guard Undefined if only this process changes the state. */
export function createSubscriptions(
  store: ConfigurationStore,
  scheduler: Scheduler,
  log: Log,
  guard?: StateGuard,
): Subscriptions {
  const calls = new WaitingCalls(scheduler, log, WAITING_CALLS_MAX, guard)
  const streams = new EventStreams(store, calls)
  const polls = new WaitingPolls(store, scheduler, calls)
  return {
    streams,
    polls,
    metrics: [
      gauge('connbook_event_streams', 'Open event streams.', () => streams.count),
      gauge('connbook_waiting_polls', 'Requests that wait for a change.', () => polls.count),
    ],
    close: () => calls.close(),
  }
}
