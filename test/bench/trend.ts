import { summarize } from './statistics.ts'

/** How a figure went on over a long time. */
export interface Trend {
  /** Medians of the middle third and of the last one. */
  readonly middle: number
  readonly last: number
  readonly isFlat: boolean
}

/**
 * Whether the median of the last third is at most `growthMax` times that of the middle third. The first third is left
 * for buffers to fill and for the compiler.
 *
 * @param values In order of time, at least three.
 */
export function trendOf(values: readonly number[], growthMax: number): Trend {
  const third = Math.floor(values.length / 3)
  const middle = summarize(values.slice(-2 * third, -third)).median
  const last = summarize(values.slice(-third)).median
  return { middle, last, isFlat: last <= growthMax * middle }
}
