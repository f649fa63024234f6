import { type Figure, type Series, valuesOf } from './figure.ts'
import { assess, type Row, type Section, type Target } from './row.ts'
import { type Summary, summarize } from './statistics.ts'

/** Above it the pace was the generator's and not the server's. */
const GENERATOR_CORES_MAX = 0.9
/** So many digits of a number are kept. */
const DIGITS = 5

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly system: string
  readonly node: string
  /** Before the run; far above 0 something else ran, too. */
  readonly loadAverage: number
}

/** Everything that a run has measured. */
export interface Report {
  /** ISO 8601. */
  readonly date: string
  readonly machine: Machine
  readonly generator: string
  readonly sections: readonly Section[]
}

/** What is kept of a run, as a file in `runs/`: the rows that have a target. */
export interface Run extends Omit<Report, 'sections'> {
  readonly rows: readonly RunRow[]
}

/** What the rounds of one run gave: the ratio or the value, whichever has the target. */
export interface RunRow extends Summary {
  readonly work: string
  readonly figure: Figure
  /** What a ratio is compared with. */
  readonly comparedWith?: string
  readonly target: Target
  readonly rounds: number
  /** The interval of the median. */
  readonly low: number
  readonly high: number
  /** The server could do more. */
  readonly isGeneratorLimited?: true
}

export function runOf({ date, machine, generator, sections }: Report): Run {
  // A kernel's full release names the machine's provider.
  const system = machine.system.replace(/(\d+\.\d+)\S*/, '$1')
  return {
    date,
    machine: { ...machine, system },
    generator,
    rows: sections.flatMap(({ rows }) => rows).flatMap(runRowOf),
  }
}

function runRowOf(row: Row): RunRow[] {
  const { work, figure, subject, baseline, target } = row
  const { value, ratio, interval } = assess(row)
  const summary = target?.of === 'ratio' ? ratio : value
  if (target === undefined || summary === undefined || interval === undefined) return []
  return [
    {
      work,
      figure,
      ...(target.of === 'ratio' && baseline && { comparedWith: baseline.name }),
      target,
      rounds: subject.samples.length,
      median: short(summary.median),
      low: short(interval.low),
      high: short(interval.high),
      min: short(summary.min),
      max: short(summary.max),
      ...(target.of === 'value' && isGeneratorLimited(figure, subject) && { isGeneratorLimited: true }),
    },
  ]
}

/** Whether a rate is that of the load generator. */
export function isGeneratorLimited(figure: Figure, series: Series): boolean {
  return figure === 'perSecond' && summarize(valuesOf(series, 'generatorCores')).median > GENERATOR_CORES_MAX
}

function short(value: number): number {
  return Number(value.toPrecision(DIGITS))
}
