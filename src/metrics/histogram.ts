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
