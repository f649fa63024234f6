import { monitorEventLoopDelay } from 'node:perf_hooks'
import { EVENT_LOOP_LOOK_MS, EVENT_LOOP_WINDOW_MS } from '../limits.ts'
import { counter, type Family } from './family.ts'

const QUANTILES = [0.5, 0.9, 0.99, 1]
const NANOSECONDS = 1e9

/** The event loop under observation. */
export interface EventLoopWatch {
  readonly metrics: readonly Family[]
  close(): void
}

/**
 * Watches how long the event loop keeps others waiting, by a timer of EVENT_LOOP_LOOK_MS.
 *
 * Quantiles are those of the last EVENT_LOOP_WINDOW_MS or more: they begin anew with the first look after that.
 */
export function watchEventLoop(): EventLoopWatch {
  // To sample each turn instead would cost an idle process nothing, but does not see what callbacks of I/O take.
  const intervals = monitorEventLoopDelay({ resolution: EVENT_LOOP_LOOK_MS })
  intervals.enable()
  /** Of the windows before. */
  let pastSum = 0
  let pastCount = 0
  let windowBegan = performance.now()
  /** As it was told last: a timer can come a fraction of a millisecond early, but a sum must not fall. */
  let toldSum = 0

  function readDelays() {
    const { count } = intervals
    const quantiles = QUANTILES.map((quantile) => {
      return [quantile, count === 0 ? Number.NaN : delayOf(intervals.percentile(100 * quantile))] as const
    })
    const sum = count === 0 ? 0 : count * delayOf(intervals.mean)
    toldSum = Math.max(toldSum, pastSum + sum)
    const value = { quantiles, sum: toldSum, count: pastCount + count }
    const now = performance.now()
    if (now - windowBegan >= EVENT_LOOP_WINDOW_MS) {
      intervals.reset()
      windowBegan = now
      pastSum = value.sum
      pastCount = value.count
    }
    return [{ value }]
  }

  return {
    metrics: [
      {
        name: 'connbook_event_loop_delay_seconds',
        help: 'How late the event loop came to a timer, and so to anything else, lately; about 1 ms is nothing.',
        type: 'summary',
        samples: readDelays,
      },
      counter(
        'connbook_event_loop_active_seconds_total',
        'Time in which the event loop was not waiting for something to do.',
        () => performance.eventLoopUtilization().active / 1000,
      ),
    ],
    close: () => void intervals.disable(),
  }
}

/** @param interval Between two calls of the timer, in nanoseconds. */
function delayOf(interval: number): number {
  return Math.max(0, interval / NANOSECONDS - EVENT_LOOP_LOOK_MS / 1000)
}
