export type MetricLabels = Readonly<Record<string, string>>

/** One value of a family; each has other labels. */
export interface Sample<Value> {
  readonly labels?: MetricLabels
  readonly value: Value
}

/** Quantiles of recent observations; sum and count of all of them. */
export interface Summary {
  /** A quantile is 0 to 1; its value NaN without observations. */
  readonly quantiles: readonly (readonly [quantile: number, value: number])[]
  readonly sum: number
  readonly count: number
}

interface FamilyOf<Type extends string, Value> {
  /** Letters, digits and underscores; the unit last, then `_total` for a counter. */
  readonly name: string
  readonly help: string
  readonly type: Type
  /** Names of the labels of every sample, in their order; none if absent. A test compares them with a scrape. */
  readonly labels?: readonly string[]
  /** Called for each scrape; what has no value then has no sample. */
  samples(): Iterable<Sample<Value>>
}

/** The metrics of one name. */
export type Family =
  | FamilyOf<'counter', number>
  | FamilyOf<'gauge', number>
  | FamilyOf<'histogram', Histogram>
  | FamilyOf<'summary', Summary>

/** A gauge of one value without labels. @param read Gives undefined while there is none. */
export function gauge(name: string, help: string, read: () => number | undefined): Family {
  return { name, help, type: 'gauge', samples: () => samplesOf(read()) }
}

/** A counter of one value without labels. */
export function counter(name: string, help: string, read: () => number): Family {
  return { name, help, type: 'counter', samples: () => samplesOf(read()) }
}

function samplesOf(value: number | undefined): Sample<number>[] {
  return value === undefined ? [] : [{ value }]
}

/** Counts since the start of the process. */
export class Counter {
  #value = 0

  get value(): number {
    return this.#value
  }

  increment(by = 1): void {
    this.#value += by
  }
}

/** Counts observations in buckets by value. */
export class Histogram {
  readonly #buckets: readonly { readonly bound: number; count: number }[]
  #sum = 0

  /** @param bounds The highest value of each bucket, rising; a last bucket without bound is added. */
  constructor(bounds: readonly number[]) {
    this.#buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound) => ({ bound, count: 0 }))
  }

  observe(value: number): void {
    for (const bucket of this.#buckets) {
      if (value > bucket.bound) continue
      bucket.count += 1
      this.#sum += value
      return
    }
  }

  get sum(): number {
    return this.#sum
  }

  get count(): number {
    return this.#buckets.reduce((count, bucket) => count + bucket.count, 0)
  }

  /** For each bound, infinity last, the number of values up to and including it. */
  cumulative(): { readonly bound: number; readonly count: number }[] {
    let count = 0
    return this.#buckets.map((bucket) => {
      count += bucket.count
      return { bound: bucket.bound, count }
    })
  }
}
