import { elapsedInTurn, wallInTurn } from '../turn-clock.ts'

export interface Clock {
  /** Milliseconds since 1970; never decreases, even if the system clock is set back. */
  now(): number
  /** Milliseconds of a monotonic clock, for pauses. */
  elapsed(): number
}

/**
 * Follows the system clock forward and runs on by itself while that is set back: what has expired stays expired.
 *
 * @param notBefore The least value of `now`, in ms since 1970.
 */
export function createClock(
  notBefore = 0,
  wall: () => number = wallInTurn,
  elapsed: () => number = elapsedInTurn,
): Clock {
  let base = Math.max(notBefore, wall())
  let baseElapsed = elapsed()
  return {
    elapsed,
    now() {
      const elapsedNow = elapsed()
      base = Math.max(wall(), base + elapsedNow - baseElapsed)
      baseElapsed = elapsedNow
      return base
    },
  }
}
