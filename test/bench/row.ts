import { type Figure, type Series, valuesOf } from './figure.ts'
import { type Summary, summarize } from './statistics.ts'

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
  readonly isMet?: boolean
}

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

/** By medians, so that one disturbed round decides nothing. */
export function assess({ figure, subject, baseline, target }: Row): Assessment {
  const values = valuesOf(subject, figure)
  const value = summarize(values)
  if (baseline === undefined) return { value, ...verdictOf(target, 'value', value) }
  const baselineValues = valuesOf(baseline, figure)
  const ratio = summarize(values.map((each, round) => each / (baselineValues[round] ?? Number.NaN)))
  return {
    value,
    baselineValue: summarize(baselineValues),
    ratio,
    ...verdictOf(target, 'ratio', ratio),
    ...verdictOf(target, 'value', value),
  }
}

function verdictOf(target: Target | undefined, of: Target['of'], { median }: Summary): { isMet?: boolean } {
  if (target?.of !== of) return {}
  return { isMet: target.bound === 'at most' ? median <= target.limit : median >= target.limit }
}
