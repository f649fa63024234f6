import { type Figure, figures, type Result, type Sample, type Target } from './comparison.ts'
import { type Summary, summarize } from './statistics.ts'

/** Above it the pace was the generator's and not the server's. */
const GENERATOR_CORES_MAX = 0.9

const widths = [26, 17, 17, 7, 14, 8]

const legend = `Values are medians of the rounds. A ratio is the left value by the right one of the same round: median, lowest and
highest. Requests come from a load generator of one thread on the same machine; where * stands it was the limit,
and the servers could do more. CPU time per request is the server's own in any case. How long the event loop is held
is what a caller meets who comes at a random moment; a steady write waits from when it is due to its answer.`

/** What the tables need to be understood. */
export function renderLegend(results: readonly Result[]): string {
  const samples = results
    .flatMap(({ subject, baseline }) => [...subject, ...baseline])
    .filter(({ otherCores }) => otherCores !== undefined)
  const otherCores = summarize(samples.map((sample) => valueIn(sample, 'otherCores')))
  const cores = `${otherCores.median.toFixed(2)} cores (${spread(otherCores)})`
  return `${legend}\nEverything else on the machine used ${cores} meanwhile; near 0 the rates can be trusted.`
}

/** The table of one comparison. */
export function renderResult(result: Result): string {
  const { comparison } = result
  const { title, subject, baseline, targets } = comparison
  const head = row(['', subject.name, baseline.name, 'ratio', '(min–max)', 'target', ''])
  return [title, head, ...targets.map((target) => renderTarget(result, target))].join('\n')
}

/** Everything that was measured, for other programs. */
export function toJson({ comparison, subject, baseline }: Result) {
  const { title, targets } = comparison
  return {
    title,
    subject: { name: comparison.subject.name, samples: subject },
    baseline: { name: comparison.baseline.name, samples: baseline },
    targets: targets.map((target) => ({ ...target, ratio: ratioOf({ subject, baseline }, target.figure) })),
  }
}

function renderTarget(result: Result, target: Target): string {
  const { figure } = target
  const { label, digits } = figures[figure]
  const ratio = ratioOf(result, figure)
  const value = (samples: readonly Sample[]) => {
    const isGenerators = figure === 'perSecond' && medianOf(samples, 'generatorCores') > GENERATOR_CORES_MAX
    return medianOf(samples, figure).toFixed(digits) + (isGenerators ? ' *' : '')
  }
  const ratios = [ratio.median.toFixed(2), `(${spread(ratio)})`]
  const verdict = renderVerdict(target, ratio.median, medianOf(result.subject, figure))
  return row([`  ${label}`, value(result.subject), value(result.baseline), ...ratios, ...verdict])
}

function renderVerdict(
  { atMost, atLeast, millisecondsAtMost }: Target,
  ratio: number,
  value: number,
): [wish: string, verdict: string] {
  if (millisecondsAtMost !== undefined)
    return [`≤ ${millisecondsAtMost} ms`, value <= millisecondsAtMost ? '  met' : '  missed']
  if (atMost !== undefined) return [`≤ ${atMost}`, ratio <= atMost ? '  met' : '  missed']
  if (atLeast !== undefined) return [`≥ ${atLeast}`, ratio >= atLeast ? '  met' : '  missed']
  return ['', '']
}

function spread({ min, max }: Summary): string {
  return `${min.toFixed(2)}–${max.toFixed(2)}`
}

function ratioOf({ subject, baseline }: Pick<Result, 'subject' | 'baseline'>, figure: Figure): Summary {
  return summarize(subject.map((sample, round) => valueIn(sample, figure) / valueIn(baseline[round], figure)))
}

function medianOf(samples: readonly Sample[], figure: Figure): number {
  return summarize(samples.map((sample) => valueIn(sample, figure))).median
}

function valueIn(sample: Sample | undefined, figure: Figure): number {
  return sample?.[figure] ?? Number.NaN
}

function row(cells: readonly string[]): string {
  const [label = '', ...others] = cells
  const aligned = others.map((cell, i) => cell.padStart(widths[i + 1] ?? 0))
  return (label.padEnd(widths[0] ?? 0) + aligned.join('')).trimEnd()
}
