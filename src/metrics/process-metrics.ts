import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { buildLabels, version } from '../version.ts'
import { counter, type Family, gauge } from './family.ts'

/** Between samples of the event loop; each wakes an idle process. */
export const EVENT_LOOP_LOOK_MS = 50
/** Shortest window for the quantiles of the event loop's delay. */
export const EVENT_LOOP_WINDOW_MS = 60_000

const QUANTILES = [0.5, 0.9, 0.99, 1]

/** Version and process metrics; the latter under the names that dashboards know. */
export function processMetrics(): Family[] {
  return [
    {
      name: 'connbook_build_info',
      help: 'Version of connbook, commit and day that it was built from, version of Node; always 1.',
      type: 'gauge',
      labels: ['version', 'commit', 'day', 'node'],
      samples: () => [{ labels: { version, ...buildLabels, node: process.version }, value: 1 }],
    },
    counter('process_cpu_seconds_total', 'CPU time of all threads, in user and kernel mode.', () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }),
    gauge('process_resident_memory_bytes', 'Memory in use, including pages of files.', readResidentMemory),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => performance.timeOrigin / 1000,
    ),
    gauge('process_open_fds', 'Open file descriptors, including sockets; on Linux only.', countDescriptors),
    gauge(
      'nodejs_heap_size_used_bytes',
      'Memory of JavaScript objects, including garbage that is not collected yet.',
      () => getHeapStatistics().used_heap_size,
    ),
    gauge(
      'nodejs_heap_size_total_bytes',
      'Memory set aside for JavaScript objects.',
      () => getHeapStatistics().total_heap_size,
    ),
    gauge(
      'nodejs_external_memory_bytes',
      'Memory of buffers and other things that JavaScript objects hold.',
      () => getHeapStatistics().external_memory,
    ),
  ]
}

/** On Linux it is read from /proc, which may not be there. */
function readResidentMemory(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

function countDescriptors(): number | undefined {
  try {
    // One of them is open for this call.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}

interface EventLoopWatch {
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
