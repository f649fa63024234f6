import type { Unit } from './figure-text.ts'
import {
  type Buckets,
  bucketsOf,
  findValue,
  growth,
  type Metrics,
  quantileOf,
  sumBy,
} from './metrics-figures.ts'

/** The values of a picture's lines at one moment. */
export type Values = Readonly<Record<string, number | undefined>>

/** What a picture shows of two looks at the metrics. */
export interface Figures {
  readonly title: string
  readonly unit: Unit
  readonly lines: readonly string[]
  /** @param before The previous reading; undefined at first and after a gap, when no rates can be computed. */
  read(now: Metrics, before: Metrics | undefined, seconds: number): Values
}

const REQUESTS = 'connbook_http_requests_total'
const DURATION = 'connbook_http_request_duration_seconds'
const SYNC = 'connbook_journal_fsync_duration_seconds'
const DELAY = 'connbook_event_loop_delay_seconds'

export const ALL_ROUTES = 'all routes'

/** How long requests to one route took; ALL_ROUTES stands for every one. */
export function answerTimes(route: string): Figures {
  const labels: Record<string, string> = route === ALL_ROUTES ? {} : { route }
  return quantiles('Time to answer', (metrics) => bucketsOf(metrics, DURATION, labels))
}

/** The routes that were asked for, those with most requests first. */
export function routesIn(metrics: Metrics): readonly string[] {
  const counts = sumBy(metrics, REQUESTS, ({ route }) => route)
  return [...counts].sort(([, a], [, b]) => b - a).map(([route]) => route)
}

/** Every picture but the answer times, in the order of the view. */
export const figures: readonly Figures[] = [
  {
    title: 'Requests by status',
    unit: 'per second',
    lines: ['2xx', '3xx', '4xx', '5xx'],
    read(now, before, seconds) {
      if (before === undefined) return {}
      const byClass = (metrics: Metrics) => sumBy(metrics, REQUESTS, ({ status = '' }) => `${status[0]}xx`)
      const grown = growth(byClass(before), byClass(now))
      return Object.fromEntries(this.lines.map((line) => [line, (grown.get(line) ?? 0) / seconds]))
    },
  },
  quantiles('Sync time of the disk', (metrics) => bucketsOf(metrics, SYNC)),
  {
    title: 'Delay of the event loop',
    unit: 'seconds',
    lines: ['p50', 'p99'],
    read: (now) => ({
      p50: findValue(now, DELAY, { quantile: '0.5' }),
      p99: findValue(now, DELAY, { quantile: '0.99' }),
    }),
  },
  gauges('Memory', 'bytes', {
    process: 'process_resident_memory_bytes',
    heap: 'nodejs_heap_size_used_bytes',
  }),
  gauges('Records', 'count', { records: 'connbook_records' }),
  gauges('Journal', 'bytes', { journal: 'connbook_journal_bytes' }),
  gauges('Connections', 'count', {
    connections: 'connbook_http_connections',
    'event streams': 'connbook_event_streams',
    'waiting reads': 'connbook_waiting_polls',
  }),
]

function gauges(title: string, unit: Unit, names: Readonly<Record<string, string>>): Figures {
  const entries = Object.entries(names)
  return {
    title,
    unit,
    lines: Object.keys(names),
    read: (now) => Object.fromEntries(entries.map(([line, name]) => [line, findValue(now, name)])),
  }
}

function quantiles(title: string, read: (metrics: Metrics) => Buckets): Figures {
  return {
    title,
    unit: 'seconds',
    lines: ['p50', 'p99'],
    read(now, before) {
      if (before === undefined) return {}
      const grown = growth(read(before), read(now))
      return { p50: quantileOf(grown, 0.5), p99: quantileOf(grown, 0.99) }
    },
  }
}
