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
