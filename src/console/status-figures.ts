import type { Unit } from './figure-text.ts'

/** How far back the pictures go. */
export const SPAN_MS = 15 * 60_000
/** Moments that are further apart than so many usual times have a gap between them. */
const GAP_TIMES = 2.5

/** Median and 99th percentile, in seconds. */
interface Quantiles {
  readonly p50: number
  readonly p99: number
}

/** A moment of the server, as `GET /v1/status` has it; what was not measured is absent. */
export interface ServerMoment {
  readonly time: string
  readonly requests?: Readonly<Record<string, number>>
  readonly answers?: Quantiles
  readonly routes?: Readonly<Record<string, Quantiles>>
  readonly syncs?: Quantiles
  readonly event_loop?: Quantiles
  readonly memory_bytes?: number
  readonly heap_bytes?: number
  readonly records?: number
  readonly journal_bytes?: number
  readonly connections?: number
  readonly event_streams?: number
  readonly waiting_polls?: number
}

/** The answer of `GET /v1/status`. Times are RFC 3339. */
export interface ServerStatus {
  readonly version: string
  readonly ready: boolean
  readonly writable: boolean
  readonly started: string
  readonly last_backup?: string
  readonly certificate_end?: string
  readonly disk_free_bytes?: number
  readonly moment_seconds: number
  readonly moments: readonly ServerMoment[]
}

/** The values of a picture's lines at one moment. */
type Values = Readonly<Record<string, number | undefined>>

/** What a picture shows. */
export interface Figures {
  readonly title: string
  readonly unit: Unit
  readonly lines: readonly string[]
  read(moment: ServerMoment): Values
}

export const ALL_ROUTES = 'all routes'

/** How long requests to one route took; ALL_ROUTES stands for every one. */
export function answerTimes(route: string): Figures {
  return quantiles('Time to answer', ({ answers, routes }) =>
    route === ALL_ROUTES ? answers : routes?.[route],
  )
}

/** The routes that were asked for, those that were busy most often first. */
export function routesIn(moments: readonly ServerMoment[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { routes = {} } of moments)
    for (const route of Object.keys(routes)) counts.set(route, (counts.get(route) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([route]) => route)
}

/** Every picture but the answer times, in the order of the view. */
export const figures: readonly Figures[] = [
  {
    title: 'Requests by status',
    unit: 'per second',
    lines: ['2xx', '3xx', '4xx', '5xx'],
    read: ({ requests = {} }) => requests,
  },
  quantiles('Sync time of the disk', ({ syncs }) => syncs),
  quantiles('Delay of the event loop', ({ event_loop }) => event_loop),
  gauges('Memory', 'bytes', { process: 'memory_bytes', heap: 'heap_bytes' }),
  gauges('Records', 'count', { records: 'records' }),
  gauges('Journal', 'bytes', { journal: 'journal_bytes' }),
  gauges('Connections', 'count', {
    connections: 'connections',
    'event streams': 'event_streams',
    'waiting reads': 'waiting_polls',
  }),
]

/**
 * All moments of the last SPAN_MS. A server that was started again has none from before its start: those are kept.
 *
 * @param kept From earlier answers, oldest first.
 */
export function joinMoments(
  kept: readonly ServerMoment[],
  { moments }: Pick<ServerStatus, 'moments'>,
): readonly ServerMoment[] {
  const [first, last] = [moments[0], moments.at(-1)]
  if (first === undefined || last === undefined) return kept
  const earlier = kept.filter(({ time }) => time < first.time)
  const since = Date.parse(last.time) - SPAN_MS
  return [...earlier, ...moments].filter(({ time }) => Date.parse(time) > since)
}

/** The points of a picture. One without values ends a line, where the server was away. */
export function pointsOf(
  { read }: Pick<Figures, 'read'>,
  moments: readonly ServerMoment[],
  momentMs: number,
): readonly { readonly at: number; readonly values: Values }[] {
  let last = Number.POSITIVE_INFINITY
  return moments.flatMap((moment) => {
    const at = Date.parse(moment.time)
    const gap = at - last > GAP_TIMES * momentMs ? [{ at: last + momentMs, values: {} }] : []
    last = at
    return [...gap, { at, values: read(moment) }]
  })
}

function gauges(title: string, unit: Unit, names: Readonly<Record<string, keyof ServerMoment>>): Figures {
  const entries = Object.entries(names)
  return {
    title,
    unit,
    lines: Object.keys(names),
    read: (moment) => Object.fromEntries(entries.map(([line, name]) => [line, moment[name] as number])),
  }
}

function quantiles(title: string, read: (moment: ServerMoment) => Quantiles | undefined): Figures {
  return { title, unit: 'seconds', lines: ['p50', 'p99'], read: (moment) => ({ ...read(moment) }) }
}
