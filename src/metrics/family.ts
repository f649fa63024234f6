import type { Histogram } from './histogram.ts'

export type Labels = Readonly<Record<string, string>>

/** One value of a family; each has other labels. */
export interface Sample<Value> {
  readonly labels?: Labels
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
