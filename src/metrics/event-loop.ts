import { monitorEventLoopDelay } from 'node:perf_hooks'
import { EVENT_LOOP_LOOK_MS, EVENT_LOOP_WINDOW_MS } from '../limits.ts'
import { counter, type Family } from './family.ts'

const QUANTILES = [0.5, 0.9, 0.99, 1]

export interface EventLoopWatch {
  readonly metrics: readonly Family[]
  close(): void
}

/**
 * Measures the delay of the event loop with a timer of EVENT_LOOP_LOOK_MS. The quantiles cover a window, which ends with
 * the first scrape after EVENT_LOOP_WINDOW_MS.
 */
export function watchEventLoop(): EventLoopWatch {
  // Sampling each turn instead would not wake an idle process, but would miss the time of I/O callbacks.
  const intervals = monitorEventLoopDelay({ resolution: EVENT_LOOP_LOOK_MS })
  intervals.enable()
  /** Sum of the earlier windows. */
  let pastSum = 0
  let pastCount = 0
  let windowBegan = performance.now()
  /** The highest sum so far: a timer can fire a fraction of a millisecond early, but a sum must not fall. */
  let highestSum = 0

  function readDelays() {
    const { count } = intervals
    const quantiles = QUANTILES.map((quantile) => {
      return [quantile, count === 0 ? Number.NaN : delayOf(intervals.percentile(100 * quantile))] as const
    })
    const sum = count === 0 ? 0 : count * delayOf(intervals.mean)
    highestSum = Math.max(highestSum, pastSum + sum)
    const value = { quantiles, sum: highestSum, count: pastCount + count }
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
        help: 'How late the event loop ran a timer, in the last minute or two; up to 1 ms is normal.',
        type: 'summary',
        samples: readDelays,
      },
      counter(
        'connbook_event_loop_active_seconds_total',
        'Time in which the event loop was busy.',
        () => performance.eventLoopUtilization().active / 1000,
      ),
    ],
    close: () => void intervals.disable(),
  }
}

function delayOf(intervalNanoseconds: number): number {
  return Math.max(0, intervalNanoseconds / 1e9 - EVENT_LOOP_LOOK_MS / 1000)
}
