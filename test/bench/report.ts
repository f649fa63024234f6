import { type Figure, figures, type Series, valuesOf } from './figure.ts'
import { type Assessment, assess, type Row, type Section, type Target } from './row.ts'
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
  const own = valueText(figure, subject, value, ratio)
  const ratioAndSpread = ratio ? `${numberText(ratio.median, 2)} (${spread(ratio, 2)})` : ''
  return {
    work,
    figure: figures[figure].label,
    value: own,
    baseline:
      baseline && baselineValue
        ? `${valueText(figure, baseline, baselineValue, ratio)} ${baseline.name}`
        : '',
    ratio: ratioAndSpread,
    target: target ? targetText(target) : '',
    verdict: isMet === undefined ? '' : isMet ? 'met' : 'missed',
    comparedWith: target?.of === 'ratio' ? (baseline?.name ?? '') : '',
    result: target?.of === 'ratio' ? `${ratioAndSpread} ×` : own,
  }
}

/** Everything that was measured, for other programs. */
export function toJson({ title, rows }: Section) {
  return { title, rows: rows.map((row) => ({ ...row, ...assess(row) })) }
}

export function numberText(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** Without a ratio, its own spread is told. */
function valueText(figure: Figure, series: Series, value: Summary, ratio: Assessment['ratio']): string {
  const { digits } = figures[figure]
  const isGenerators =
    figure === 'perSecond' && summarize(valuesOf(series, 'generatorCores')).median > GENERATOR_CORES_MAX
  const own = ratio || series.samples.length === 1 ? '' : ` (${spread(value, digits)})`
  return `${numberText(value.median, digits)}${isGenerators ? '*' : ''}${own}`
}

/** What is asked for, in short. */
export function targetText({ of, bound, limit }: Target): string {
  return `${bound === 'at most' ? '≤' : '≥'} ${limit.toLocaleString('en')}${of === 'ratio' ? ' ×' : ''}`
}

function spread({ min, max }: Summary, digits: number): string {
  return `${numberText(min, digits)}–${numberText(max, digits)}`
}
