import { type Cells, cellsOf } from './report.ts'
import type { Section } from './row.ts'

type Columns = readonly (readonly [name: keyof Cells, heading: string])[]

const textColumns: Columns = [
  ['figure', 'figure'],
  ['value', 'connbook'],
  ['baseline', 'compared with'],
  ['ratio', 'ratio'],
  ['target', 'target'],
  ['verdict', ''],
]

/** Everything, for a terminal; the work stands above its figures. */
export function renderText({ title, rows }: Section): string {
  const cells = rows.map(cellsOf)
  const widths = textColumns.map(([name, heading]) =>
    Math.max(heading.length, ...cells.map((each) => each[name].length)),
  )
  const lineOf = (texts: readonly string[]) =>
    `  ${texts.map((text, i) => text.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd()
  const lines = cells.flatMap((each, i) => {
    const line = lineOf(textColumns.map(([name]) => each[name]))
    return each.work === cells[i - 1]?.work ? [line] : [each.work, line]
  })
  return [title, lineOf(textColumns.map(([, heading]) => heading)), ...lines].join('\n')
}
