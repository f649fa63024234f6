import { type Figure, type Series, valuesOf } from './figure.ts'
import { type Interval, medianInterval, type Summary, summarize } from './statistics.ts'

/** The target of a ratio, or of the subject's own value. */
export interface Target {
  readonly of: 'ratio' | 'value'
  readonly bound: 'at most' | 'at least'
  readonly limit: number
}

/** One line of the report: one figure of one kind of work. */
export interface Row {
  readonly work: string
  readonly figure: Figure
  readonly subject: Series
  readonly baseline?: Series
  readonly target?: Target
}

/** Rows that belong under one heading. */
export interface Section {
  readonly title: string
  readonly rows: readonly Row[]
}

/** The result of a row. */
export interface Assessment {
  readonly value: Summary
  readonly baselineValue?: Summary
  /** Subject divided by baseline, each pair from the same round. */
  readonly ratio?: Summary
  /** Where the ratio or the value lies, whichever has a target. */
  readonly interval?: Interval
  readonly verdict?: Verdict
}

/** Whether a target is reached; the last when the rounds differ too much to say. */
export type Verdict = 'met' | 'missed' | 'cannot be told apart'

export function ratioAtMost(limit: number): Target {
  return { of: 'ratio', bound: 'at most', limit }
}

export function ratioAtLeast(limit: number): Target {
  return { of: 'ratio', bound: 'at least', limit }
}

export function valueAtMost(limit: number): Target {
  return { of: 'value', bound: 'at most', limit }
}

export function valueAtLeast(limit: number): Target {
  return { of: 'value', bound: 'at least', limit }
}

/** Several figures of one kind of work, each with its target, if any. */
export function rowsOf(
  work: string,
  subject: Series,
  baseline: Series | undefined,
  wanted: Readonly<Partial<Record<Figure, Target | undefined>>>,
): Row[] {
  return Object.entries(wanted).map(([figure, target]) => ({
    work,
    figure: figure as Figure,
    subject,
    ...(baseline && { baseline }),
    ...(target && { target }),
  }))
}

export function assess({ figure, subject, baseline, target }: Row): Assessment {
  const values = valuesOf(subject, figure)
  const value = summarize(values)
  if (baseline === undefined) return { value, ...judge(target, { value: values }) }
  const baselineValues = valuesOf(baseline, figure)
  const ratios = values.map((each, round) => each / (baselineValues[round] ?? Number.NaN))
  return {
    value,
    baselineValue: summarize(baselineValues),
    ratio: summarize(ratios),
    ...judge(target, { value: values, ratio: ratios }),
  }
}

/**
 * A target is met or missed when the whole interval of the median is on one side of it, and otherwise cannot be told
 * apart from what was measured. What was not measured is missed.
 */
export function verdictOf({ bound, limit }: Target, { low, high }: Interval): Verdict {
  const isWithin = (value: number) => (bound === 'at most' ? value <= limit : value >= limit)
  if (Number.isNaN(low) || Number.isNaN(high)) return 'missed'
  if (isWithin(low) !== isWithin(high)) return 'cannot be told apart'
  return isWithin(low) ? 'met' : 'missed'
}

function judge(
  target: Target | undefined,
  measured: Readonly<Partial<Record<Target['of'], readonly number[]>>>,
): Pick<Assessment, 'interval' | 'verdict'> {
  const values = target && measured[target.of]
  if (target === undefined || values === undefined) return {}
  const isMeasured = values.every((value) => !Number.isNaN(value))
  const interval = isMeasured ? medianInterval(values) : { low: Number.NaN, high: Number.NaN }
  return { interval, verdict: verdictOf(target, interval) }
}
