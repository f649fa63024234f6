import { type Figure, figures, type Series, valuesOf } from './figure.ts'
import { assess, type Row, type Section, type Target } from './row.ts'
import { type Summary, summarize } from './statistics.ts'

/** Above it the pace was the generator's and not the server's. */
const GENERATOR_CORES_MAX = 0.9

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
  /** What a table without values needs: the name, and the ratio, or the value where no ratio is asked for. */
  readonly comparedWith: string
  readonly result: string
}

/** What the numbers need to be understood. */
export function describeMeasurement(generator: string): string {
  return `Values are medians of the rounds. A ratio is the value by that of what it is compared with in the same round: median,
lowest and highest. Requests come from ${generator} with one thread on the same machine; where * stands it was the limit,
and the server could do more. CPU time per request is the server's own in any case. How long the event loop is held
is what a caller meets who comes at a random moment; steady requests wait from when they are due to their answer.`
}

/** What else the machine did. */
export function describeDisturbance(sections: readonly Section[]): string {
  const series = sections.flatMap(({ rows }) => rows.map(({ subject }) => subject))
  const cores = series.flatMap((each) => valuesOf(each, 'otherCores')).filter((value) => value >= 0)
  const summary = summarize(cores)
  const text = `${numberText(summary.median, 2)} cores (${spread(summary, 2)})`
  return `Everything else on the machine used ${text} meanwhile; near 0 the rates can be trusted.`
}

export function cellsOf(row: Row): Cells {
  const { work, figure, subject, baseline, target } = row
  const { value, baselineValue, ratio, isMet } = assess(row)
  const own = valueText(figure, subject, value)
  const hasSpread = subject.samples.length > 1
  const ownAndSpread = hasSpread ? `${own} (${spread(value, figures[figure].digits)})` : own
  const ratioAndSpread = ratio ? `${numberText(ratio.median, 2)} (${spread(ratio, 2)})` : ''
  return {
    work,
    figure: figures[figure].label,
    value: ratio ? own : ownAndSpread,
    baseline:
      baseline && baselineValue ? `${valueText(figure, baseline, baselineValue)} ${baseline.name}` : '',
    ratio: ratioAndSpread,
    target: target ? targetText(target) : '',
    verdict: isMet === undefined ? '' : isMet ? 'met' : 'missed',
    comparedWith: target?.of === 'ratio' ? (baseline?.name ?? '') : '',
    result: target?.of === 'ratio' ? `${ratioAndSpread} ×` : ownAndSpread,
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
  const isGenerators =
    figure === 'perSecond' && summarize(valuesOf(series, 'generatorCores')).median > GENERATOR_CORES_MAX
  return `${numberText(value.median, figures[figure].digits)}${isGenerators ? '*' : ''}`
}

/** What is asked for, in short. */
export function targetText({ of, bound, limit }: Target): string {
  return `${bound === 'at most' ? '≤' : '≥'} ${limit.toLocaleString('en')}${of === 'ratio' ? ' ×' : ''}`
}

function spread({ min, max }: Summary, digits: number): string {
  return `${numberText(min, digits)}–${numberText(max, digits)}`
}
