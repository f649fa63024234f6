import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { figures } from './figure.ts'
import { assess, type Row, type Section, type Target } from './row.ts'

const WIDTH = 460
const ROW_HEIGHT = 18
const colors = { met: '#2b8a3e', missed: '#c92a2a' }

type Panel = Extract<TopLevelSpec, { vconcat: unknown }>['vconcat'][number]

/** One row of the plot. */
interface Mark {
  readonly of: Target['of']
  readonly label: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly target: number
  readonly bound: Target['bound']
  readonly verdict: string
}

/** The rows that have a target as a picture, SVG: ratios above, values as a share of what is asked for below. */
export async function renderPlot(sections: readonly Section[]): Promise<string> {
  const marks = sections.flatMap(({ rows }) => rows).flatMap(markOf)
  const spec: TopLevelSpec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 12,
    config: { axis: { labelLimit: 420, titleFontWeight: 'normal' }, view: { stroke: null } },
    vconcat: [
      panel(
        'Ratio to what it is compared with',
        marks.filter(({ of }) => of === 'ratio'),
      ),
      panel(
        'Share of the value that is asked for',
        marks.filter(({ of }) => of === 'value'),
      ),
    ],
    resolve: { scale: { x: 'independent', y: 'independent', color: 'shared' } },
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
  const unit = target.of === 'ratio' ? 1 : target.limit
  const of = target.of
  const [what, wish] =
    of === 'ratio' ? [`by ${baseline?.name}`, ''] : ['', ` (${target.bound} ${target.limit})`]
  return [
    {
      of,
      label: `${work}: ${figures[figure].label} ${what}${wish}`,
      median: summary.median / unit,
      min: summary.min / unit,
      max: summary.max / unit,
      target: target.limit / unit,
      bound: target.bound,
      verdict: isMet ? 'met' : 'missed',
    },
  ]
}

function panel(title: string, marks: readonly Mark[]): Panel {
  const y = {
    field: 'label',
    type: 'ordinal',
    sort: null,
    title: null,
    axis: { ticks: false, domain: false, grid: true },
  } as const
  const x = (field: string) => ({ field, type: 'quantitative', scale: { type: 'log' }, title }) as const
  const color = {
    field: 'verdict',
    type: 'nominal',
    scale: { domain: Object.keys(colors), range: Object.values(colors) },
    legend: { title: 'target', orient: 'top' },
  } as const
  return {
    width: WIDTH,
    height: { step: ROW_HEIGHT },
    data: { values: [...marks] },
    encoding: { y },
    layer: [
      { mark: { type: 'rule', strokeWidth: 2 }, encoding: { x: x('min'), x2: { field: 'max' }, color } },
      { mark: { type: 'point', filled: true, size: 60, opacity: 1 }, encoding: { x: x('median'), color } },
      { mark: { type: 'tick', color: 'black', thickness: 2, size: 14 }, encoding: { x: x('target') } },
    ],
  }
}
