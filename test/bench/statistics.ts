export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** @param values At least one. */
export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (position: number) => sorted[position] ?? Number.NaN
  const last = sorted.length - 1
  return { median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2, min: at(0), max: at(last) }
}

/** The lowest value that at least this share of the values, 0 to 1, does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
