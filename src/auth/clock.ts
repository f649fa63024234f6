import { performance } from 'node:perf_hooks'

/** Time, as far as credentials and pauses go. */
export interface Clock {
  /** Milliseconds since 1970; never goes back, even when the machine's clock is set back. */
  now(): number
  /** Milliseconds that have passed since some moment; knows nothing of dates. */
  elapsed(): number
}

/**
 * A clock that follows the machine's forward and runs on by itself when that is set back, so that nothing that has
 * expired becomes valid again.
 *
 * @param notBefore A moment, in ms since 1970, that is known to have passed.
 */
export function createClock(
  notBefore = 0,
  wall: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
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
