interface Bucket {
  /** The highest value that it takes. */
  readonly bound: number
  count: number
}

/** How often values of which size were observed. */
export class Histogram {
  readonly #buckets: readonly Bucket[]
  #sum = 0

  /** @param bounds Rising; a bucket takes what is above the bound before its own, up to and with its own. */
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

  /** For each bound, infinity the last, how many values were not above it. */
  cumulative(): { readonly bound: number; readonly count: number }[] {
    let count = 0
    return this.#buckets.map((bucket) => {
      count += bucket.count
      return { bound: bucket.bound, count }
    })
  }
}
