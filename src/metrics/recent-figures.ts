import { timestamp } from '../timestamp.ts'
import type { Family, Histogram } from './family.ts'

/** Between two moments. */
export const MOMENT_MS = 10_000
/** Moments that are kept: those of the last 15 minutes. */
export const MOMENTS_MAX = 90

/** Names of the figures of a moment, and of the gauges that they are read from. */
const gauges = {
  memory_bytes: 'process_resident_memory_bytes',
  heap_bytes: 'nodejs_heap_size_used_bytes',
  records: 'connbook_records',
  journal_bytes: 'connbook_journal_bytes',
  connections: 'connbook_http_connections',
  event_streams: 'connbook_event_streams',
  waiting_polls: 'connbook_waiting_polls',
} as const

const REQUESTS = 'connbook_http_requests_total'
const DURATIONS = 'connbook_http_request_duration_seconds'
const SYNCS = 'connbook_journal_fsync_duration_seconds'
const DELAY = 'connbook_event_loop_delay_seconds'
const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const

/** Median and 99th percentile, in seconds. */
export interface Quantiles {
  readonly p50: number
  readonly p99: number
}

/** How the process does at a moment, and how it did since the one before. */
export interface Moment extends Readonly<Partial<Record<keyof typeof gauges, number>>> {
  /** RFC 3339, in UTC. */
  readonly time: string
  /** Answers a second, by status; absent at the first moment, as all that needs an earlier one. */
  readonly requests?: Readonly<Record<string, number>>
  /** Durations of all answers; absent without any. */
  readonly answers?: Quantiles
  /** The same by the pattern of the path. */
  readonly routes?: Readonly<Record<string, Quantiles>>
  /** Durations of the syncs of the journal. */
  readonly syncs?: Quantiles
  /** Delays of the event loop in the last minute or two. */
  readonly event_loop?: Quantiles
}

/** Observations up to each bound of a histogram, the last one infinite. */
type Buckets = ReturnType<Histogram['cumulative']>

/** What a later reading is compared with. */
interface Reading {
  readonly elapsedMs: number
  readonly requests: ReadonlyMap<string, number>
  readonly durations: ReadonlyMap<string, Buckets>
  readonly syncs: Buckets
}

/** Keeps how the process has done of late, for people who come to look only then. */
export class RecentFigures {
  readonly #families: ReadonlyMap<string, Family>
  readonly #elapsed: () => number
  #before: Reading | undefined
  #moments: readonly Moment[] = []

  /** @param elapsed The monotonic clock, in ms. */
  constructor(families: readonly Family[], elapsed: () => number) {
    this.#families = new Map(families.map((family) => [family.name, family]))
    this.#elapsed = elapsed
  }

  /** Oldest first; at most MOMENTS_MAX. */
  get moments(): readonly Moment[] {
    return this.#moments
  }

  /** The value of a family without labels; undefined while it has none. */
  valueOf(name: string): number | undefined {
    const [sample] = this.#samples(name)
    return typeof sample?.value === 'number' ? sample.value : undefined
  }

  /** Takes a moment now, and one each MOMENT_MS. @returns Stops it. */
  begin(): () => void {
    this.take()
    const timer = setInterval(() => this.take(), MOMENT_MS)
    timer.unref()
    return () => clearInterval(timer)
  }

  take(): void {
    const now = this.#read()
    const moment: Moment = {
      time: timestamp(),
      ...(this.#before === undefined ? {} : figuresSince(this.#before, now)),
      ...this.#delays(),
      ...Object.fromEntries(
        Object.entries(gauges).flatMap(([figure, name]) => {
          const value = this.valueOf(name)
          return value === undefined ? [] : [[figure, value]]
        }),
      ),
    }
    this.#before = now
    this.#moments = [...this.#moments, moment].slice(-MOMENTS_MAX)
  }

  #read(): Reading {
    const requests = new Map<string, number>()
    for (const { labels, value } of this.#samples(REQUESTS)) {
      const status = `${labels?.status?.[0]}xx`
      requests.set(status, (requests.get(status) ?? 0) + Number(value))
    }
    const durations = new Map<string, Buckets>()
    for (const { labels, value } of this.#samples(DURATIONS))
      durations.set(labels?.route ?? '', bucketsOf(value))
    const [syncs] = this.#samples(SYNCS)
    return { elapsedMs: this.#elapsed(), requests, durations, syncs: syncs ? bucketsOf(syncs.value) : [] }
  }

  #delays(): Pick<Moment, 'event_loop'> {
    const [sample] = this.#samples(DELAY)
    if (sample === undefined || typeof sample.value === 'number' || !('quantiles' in sample.value)) return {}
    const quantiles = new Map(sample.value.quantiles)
    const [p50 = Number.NaN, p99 = Number.NaN] = [quantiles.get(0.5), quantiles.get(0.99)]
    return Number.isNaN(p50) ? {} : { event_loop: { p50, p99 } }
  }

  /** None where they cannot be read: a timer reads them, and an error there would end the process. */
  #samples(name: string) {
    try {
      return [...(this.#families.get(name)?.samples() ?? [])]
    } catch {
      return []
    }
  }
}

function figuresSince(before: Reading, now: Reading): Partial<Moment> {
  const seconds = (now.elapsedMs - before.elapsedMs) / 1000
  const grown = STATUS_CLASSES.map((status): [string, number] => [
    status,
    ((now.requests.get(status) ?? 0) - (before.requests.get(status) ?? 0)) / seconds,
  ])
  const byRoute = [...now.durations].map(([route, buckets]): [string, Buckets] => [
    route,
    difference(buckets, before.durations.get(route)),
  ])
  const answers = quantilesOf(byRoute.reduce<Buckets>((sum, [, buckets]) => total(sum, buckets), []))
  const syncs = quantilesOf(difference(now.syncs, before.syncs))
  const routes = byRoute.flatMap(([route, buckets]) => {
    const quantiles = quantilesOf(buckets)
    return quantiles === undefined ? [] : [[route, quantiles] as const]
  })
  return {
    requests: Object.fromEntries(grown),
    ...(answers === undefined ? {} : { answers, routes: Object.fromEntries(routes) }),
    ...(syncs === undefined ? {} : { syncs }),
  }
}

function bucketsOf(value: unknown): Buckets {
  return (value as Histogram).cumulative()
}

function difference(now: Buckets, before: Buckets = []): Buckets {
  return now.map(({ bound, count }, i) => ({ bound, count: count - (before[i]?.count ?? 0) }))
}

function total(one: Buckets, other: Buckets): Buckets {
  return other.map(({ bound, count }, i) => ({ bound, count: count + (one[i]?.count ?? 0) }))
}

function quantilesOf(buckets: Buckets): Quantiles | undefined {
  const p50 = quantileOf(buckets, 0.5)
  const p99 = quantileOf(buckets, 0.99)
  return p50 === undefined || p99 === undefined ? undefined : { p50, p99 }
}

/**
 * The value below which a share of the observations lies, by linear interpolation in its bucket; undefined without any.
 * Beyond the last finite bound, it is that bound.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
 */
function quantileOf(buckets: Buckets, share: number): number | undefined {
  const rank = share * (buckets.at(-1)?.count ?? 0)
  if (rank === 0) return undefined
  let low = { bound: 0, count: 0 }
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (bucket.bound === Number.POSITIVE_INFINITY) return low.bound
      const part = (rank - low.count) / (bucket.count - low.count)
      return low.bound + (bucket.bound - low.bound) * part
    }
    low = bucket
  }
  return low.bound
}
