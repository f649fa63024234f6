import { type Figure, figures, type Series, valuesOf } from './figure.ts'
import { assess, type Row, type Section, type Target } from './row.ts'
import { isGeneratorLimited } from './run.ts'
import { type Summary, summarize } from './statistics.ts'

/** The cells of a row, as text. */
export interface Cells {
  readonly work: string
  readonly figure: string
  readonly value: string
  readonly baseline: string
  /** Median, lowest and highest. */
  readonly ratio: string
  readonly target: string
  readonly verdict: string
}

/** What the numbers need to be understood. */
export function describeMeasurement(generator: string): string {
  return `Values are medians of the rounds. A ratio is the value by that of what it is compared with in the same round: median,
lowest and highest. Requests come from ${generator} with one thread on the same machine; where * stands it was the limit,
and the server could do more. CPU time per request is the server's own in any case. How long the event loop is held
is what a caller meets who comes at a random moment; steady requests wait from when they are due to their answer. A
target that lies inside the 95 % confidence interval of the median cannot be told apart from it.`
}

/** What else the machine did while there was a load, if there was one: a line of its own. */
export function describeDisturbance(sections: readonly Section[]): string {
  const series = sections.flatMap(({ rows }) => rows.map(({ subject }) => subject))
  const cores = series.flatMap((each) => valuesOf(each, 'otherCores')).filter((value) => value >= 0)
  if (cores.length === 0) return ''
  const summary = summarize(cores)
  const text = `${numberText(summary.median, 2)} cores (${spread(summary, 2)})`
  return `\nEverything else on the machine used ${text} meanwhile; near 0 the rates can be trusted.`
}

export function cellsOf(row: Row): Cells {
  const { work, figure, subject, baseline, target } = row
  const { value, baselineValue, ratio, verdict } = assess(row)
  const own = valueText(figure, subject, value)
  const hasSpread = subject.samples.length > 1
  const ownAndSpread = hasSpread ? `${own} (${spread(value, figures[figure].digits)})` : own
  return {
    work,
    figure: figures[figure].label,
    value: ratio ? own : ownAndSpread,
    baseline:
      baseline && baselineValue ? `${valueText(figure, baseline, baselineValue)} ${baseline.name}` : '',
    ratio: ratio ? `${numberText(ratio.median, 2)} (${spread(ratio, 2)})` : '',
    target: target ? targetText(target) : '',
    verdict: verdict ?? '',
  }
}

/** Everything that was measured, for other programs. */
export function toJson({ title, rows }: Section) {
  return { title, rows: rows.map((row) => ({ ...row, ...assess(row) })) }
}

export function numberText(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function valueText(figure: Figure, series: Series, value: Summary): string {
  return `${numberText(value.median, figures[figure].digits)}${isGeneratorLimited(figure, series) ? '*' : ''}`
}

/** What is asked for, in short. */
export function targetText({ of, bound, limit }: Target): string {
  return `${bound === 'at most' ? '≤' : '≥'} ${limit.toLocaleString('en')}${of === 'ratio' ? ' ×' : ''}`
}

function spread({ min, max }: Summary, digits: number): string {
  return `${numberText(min, digits)}–${numberText(max, digits)}`
}
