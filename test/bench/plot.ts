import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { figures } from './figure.ts'
import { numberText, targetText } from './report.ts'
import { assess, type Row, type Section, type Target } from './row.ts'

const WIDTH = 420
const ROW_HEIGHT = 20
const TEXT_GAP = 10
const colors = { met: '#2b8a3e', missed: '#c92a2a' }
/** Of the scales, which are logarithmic. */
const TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]

type Panel = Extract<TopLevelSpec, { vconcat: unknown }>['vconcat'][number]

/** One row of the plot. */
interface Mark {
  readonly of: Target['of']
  readonly label: string
  /** Value and target, in figures. */
  readonly text: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly target: number
  readonly verdict: keyof typeof colors
}

/**
 * The rows that have a target as a picture, SVG: ratios above; below, values by what is asked for. The black marks are
 * the targets.
 */
export async function renderPlot(sections: readonly Section[]): Promise<string> {
  const marks = sections.flatMap(({ rows }) => rows).flatMap(markOf)
  const spec: TopLevelSpec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 16,
    config: { font: 'sans-serif', axis: { labelLimit: 0 }, view: { stroke: null } },
    vconcat: [
      panel(
        'Ratio to what it is compared with: median, lowest and highest of the rounds; black: the target',
        marks.filter(({ of }) => of === 'ratio'),
      ),
      panel(
        'Value by the target',
        marks.filter(({ of }) => of === 'value'),
      ),
    ],
  }
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

function markOf(row: Row): Mark[] {
  const { work, figure, baseline, target } = row
  const { value, ratio, isMet } = assess(row)
  const summary = target?.of === 'ratio' ? ratio : value
  if (target === undefined || summary === undefined) return []
  const { label, digits } = figures[figure]
  const unit = target.of === 'ratio' ? 1 : target.limit
  const by = target.of === 'ratio' ? ` : ${baseline?.name}` : ''
  return [
    {
      of: target.of,
      label: `${work}, ${label}${by}`,
      text: `${numberText(summary.median, target.of === 'ratio' ? 2 : digits)}   (${targetText(target)})`,
      median: summary.median / unit,
      min: summary.min / unit,
      max: summary.max / unit,
      target: target.limit / unit,
      verdict: isMet ? 'met' : 'missed',
    },
  ]
}

function panel(title: string, marks: readonly Mark[]): Panel {
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
      { mark: { type: 'point', filled: true, size: 60, opacity: 1 }, encoding: { x: x('median'), color } },
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
