import { createHash } from 'node:crypto'
import { figures } from './figure.ts'
import { mediansText, type PublishedRow } from './published.ts'
import { targetText } from './report.ts'
import type { Target, Verdict } from './row.ts'

const WIDTH = 420
const ROW_HEIGHT = 20
const TEXT_GAP = 10
const colors = {
  met: '#2b8a3e',
  missed: '#c92a2a',
  'cannot be told apart': '#b35c00',
} as const satisfies Record<Verdict, string>
/** Marks of the scales, which are logarithmic. */
const TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]

/** One row of the plot. */
interface Mark {
  readonly of: Target['of']
  readonly label: string
  /** Value and target, in figures. */
  readonly text: string
  readonly medians: readonly number[]
  readonly min: number
  readonly max: number
  readonly target: number
  readonly verdict: Verdict
}

/**
 * Published rows as a picture, SVG: ratios above; below, values by what is asked for. The black marks are
 * the targets. Its last line is `plotMark` of the rows.
 *
 * @throws {Error} if the packages of the benchmark are not installed.
 */
export async function renderPlot(rows: readonly PublishedRow[]): Promise<string> {
  // Only here: tests of the tables run without the packages of the benchmark.
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')])
  const view = new View(parse(compile(specOf(rows)).spec), { renderer: 'none' })
  try {
    return `${await view.toSVG()}\n${plotMark(rows)}\n`
  } finally {
    view.finalize()
  }
}

/** A comment for the picture that says what it was drawn from: with it, a test can see whether it is stale. */
export function plotMark(rows: readonly PublishedRow[]): string {
  return `<!-- drawn from ${createHash('sha256')
    .update(JSON.stringify(specOf(rows)))
    .digest('hex')} -->`
}

function specOf(rows: readonly PublishedRow[]): object {
  const marks = rows.map(markOf)
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 16,
    config: { font: 'sans-serif', axis: { labelLimit: 0 }, view: { stroke: null } },
    vconcat: [
      panel(
        'Ratio to what it is compared with. Dot: median of a run; line: lowest to highest round; black: the target',
        marks.filter(({ of }) => of === 'ratio'),
      ),
      panel(
        'Value by the target',
        marks.filter(({ of }) => of === 'value'),
      ),
    ],
  }
}

function markOf(row: PublishedRow): Mark {
  const { work, figure, comparedWith, target, medians, min, max, verdict } = row
  const unit = target.of === 'ratio' ? 1 : target.limit
  const by = target.of === 'ratio' ? ` : ${comparedWith}` : ''
  return {
    of: target.of,
    label: `${work}, ${figures[figure].label}${by}`,
    text: `${mediansText(row)}   (${targetText(target)})`,
    medians: medians.map((median) => median / unit),
    min: min / unit,
    max: max / unit,
    target: target.limit / unit,
    verdict,
  }
}

function panel(title: string, marks: readonly Mark[]): object {
  const x = (field: string) =>
    ({
      field,
      type: 'quantitative',
      scale: { type: 'log', domain: domainOf(marks), nice: false },
      axis: { values: TICKS, format: '~g', title: null },
    }) as const
  const color = {
    field: 'verdict',
    type: 'nominal',
    scale: { domain: Object.keys(colors), range: Object.values(colors) },
    legend: null,
  } as const
  return {
    title: { text: title, anchor: 'start', frame: 'group', fontWeight: 'normal' },
    width: WIDTH,
    height: { step: ROW_HEIGHT },
    data: { values: [...marks] },
    encoding: {
      y: {
        field: 'label',
        type: 'ordinal',
        sort: null,
        title: null,
        axis: { ticks: false, domain: false, grid: true },
      },
    },
    layer: [
      {
        mark: { type: 'tick', color: 'black', thickness: 2, size: ROW_HEIGHT - 4 },
        encoding: { x: x('target') },
      },
      { mark: { type: 'rule', strokeWidth: 2 }, encoding: { x: x('min'), x2: { field: 'max' }, color } },
      {
        transform: [{ flatten: ['medians'] }],
        mark: { type: 'point', filled: true, size: 60, opacity: 1 },
        encoding: { x: x('medians'), color },
      },
      {
        mark: { type: 'text', align: 'left' },
        encoding: { x: { value: WIDTH + TEXT_GAP }, text: { field: 'text' }, color },
      },
    ],
  }
}

/** From the tick below everything to the one above. */
function domainOf(marks: readonly Mark[]): [number, number] {
  const values = marks.flatMap(({ min, max, target }) => [min, max, target]).filter(Number.isFinite)
  const below = TICKS.findLast((tick) => tick <= Math.min(...values)) ?? Math.min(...values)
  const above = TICKS.find((tick) => tick >= Math.max(...values)) ?? Math.max(...values)
  return [below, above]
}
