import type { Log } from '../log.ts'

/** Less is what NTP corrects all the time. */
export const CLOCK_BEHIND_MS = 60_000

/** Moments that have passed, as the folder has them; in ms since 1970. */
export interface PassedMoments {
  /** The clock of the sessions, which never goes back. */
  readonly session: number
  /** Latest time in the audit trail; undefined while it is empty. */
  readonly trail: number | undefined
}

/** Warns at a start if the machine's clock is behind a moment that has passed, so it was or is wrong. */
export function warnOfClock({ session, trail = 0 }: PassedMoments, log: Log, now = Date.now()): void {
  const latest = Math.max(session, trail)
  if (latest - now < CLOCK_BEHIND_MS) return
  const reason =
    trail > session
      ? 'the newest change is of a later time'
      : 'the clock was set back: an earlier run of the server saw a later time'
  log.warn('clock_behind', {
    latest: new Date(latest).toISOString(),
    reason,
    remedy:
      'see whether the clock of this machine is right; until that time, the history can show changes out of order',
  })
}
