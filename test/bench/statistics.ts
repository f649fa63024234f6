export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** From one value to another, both included. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** How rarely the interval of a median may miss it. */
const MISS_SHARE_MAX = 0.05

/** @param values At least one. */
export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (position: number) => sorted[position] ?? Number.NaN
  const last = sorted.length - 1
  return { median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2, min: at(0), max: at(last) }
}

/**
 * The confidence interval of the median, 95 % or more, from order statistics, whatever the distribution is.
 *
 * From nine values it leaves out the lowest and the highest. Fewer than six give no such interval: then it is all of
 * them, which is less sure.
 *
 * @param values At least one; independent of each other.
 * @see E. L. Lehmann, Nonparametrics: Statistical Methods Based on Ranks (1975), pages 182 and 183
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (position: number) => sorted[position] ?? Number.NaN
  const omitted = omittedAtEachEnd(sorted.length)
  return { low: at(omitted), high: at(sorted.length - 1 - omitted) }
}

/** Each value is below the median with probability 1/2, so their number has a binomial distribution. */
function omittedAtEachEnd(count: number): number {
  let omitted = 0
  let probability = 0.5 ** count
  let below = probability
  while (true) {
    probability *= (count - omitted) / (omitted + 1)
    below += probability
    if (!(2 * below <= MISS_SHARE_MAX)) return omitted
    omitted += 1
  }
}

/** The lowest value that at least this share of the values, 0 to 1, does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
