const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? ([+-]?Inf|NaN|[\d.eE+-]+)$/
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** All samples of one look at the metrics. */
export type Metrics = readonly Sample[]

/** Counts of a histogram by upper bound, not cumulative; Infinity is the last bound. */
export type Buckets = ReadonlyMap<number, number>

export function findValue(metrics: Metrics, name: string, labels: Sample['labels'] = {}): number | undefined {
  const value = metrics.find((sample) => sample.name === name && has(sample, labels))?.value
  // The server says NaN where it has measured nothing yet.
  return Number.isNaN(value) ? undefined : value
}

/** The sum of a family's samples by what a function says of their labels; undefined leaves one out. */
export function sumBy(
  metrics: Metrics,
  name: string,
  groupOf: (labels: Sample['labels']) => string | undefined,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const sample of metrics) {
    const group = sample.name === name ? groupOf(sample.labels) : undefined
    if (group !== undefined) sums.set(group, (sums.get(group) ?? 0) + sample.value)
  }
  return sums
}

/** How much counters have grown; one that has fallen was reset by a restart of the server. */
export function growth<Key>(
  before: ReadonlyMap<Key, number>,
  now: ReadonlyMap<Key, number>,
): Map<Key, number> {
  const entries = [...now].map(([key, value]): [Key, number] => {
    const earlier = before.get(key) ?? 0
    return [key, value >= earlier ? value - earlier : value]
  })
  return new Map(entries)
}

/** @param labels That its samples must have. All that fit are added up. */
export function bucketsOf(metrics: Metrics, name: string, labels: Sample['labels'] = {}): Buckets {
  const cumulative = sumBy(
    metrics.filter((sample) => has(sample, labels)),
    `${name}_bucket`,
    ({ le }) => le,
  )
  const bounds = [...cumulative].map(([bound, count]): [number, number] => [
    bound === '+Inf' ? Infinity : Number(bound),
    count,
  ])
  let below = 0
  const counts = bounds
    .sort(([a], [b]) => a - b)
    .map(([bound, count]): [number, number] => {
      const own = count - below
      below = count
      return [bound, own]
    })
  return new Map(counts)
}

/**
 * The value below which a share of the observations lies, in a bucket by linear interpolation; undefined without any.
 * Beyond the last finite bound, it is that bound.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
 */
export function quantileOf(buckets: Buckets, share: number): number | undefined {
  const total = [...buckets.values()].reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const rank = share * total
  let below = 0
  let low = 0
  for (const [bound, count] of buckets) {
    if (below + count >= rank && count > 0)
      return bound === Infinity ? low : low + ((bound - low) * (rank - below)) / count
    below += count
    if (bound !== Infinity) low = bound
  }
  return low
}

function has({ labels }: Sample, wanted: Sample['labels']): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value)
}

/** One line of the text format of Prometheus. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Reads the text format of Prometheus, version 0.0.4; skips lines that are not samples.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function parseMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = LINE.exec(line) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(LABEL)].map(([, key = '', escaped = '']) => [key, plainText(escaped)])
    return [{ name, labels: Object.fromEntries(pairs), value: parseNumber(value) }]
  })
}

function plainText(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
}

function parseNumber(text: string): number {
  return text.endsWith('Inf') ? Number(`${text}inity`) : Number(text)
}
