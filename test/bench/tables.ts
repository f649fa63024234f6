import { type Cells, cellsOf } from './report.ts'
import type { Row, Section } from './row.ts'

const headings: Cells = {
  work: 'work',
  figure: 'figure',
  value: 'connbook',
  baseline: 'compared with',
  ratio: 'ratio',
  target: 'target',
  verdict: '',
}

/** For a terminal; the work stands above its figures. */
export function renderText({ title, rows }: Section): string {
  const cells = rows.map(cellsOf)
  const { work: _work, ...columns } = headings
  const names = Object.keys(columns) as (keyof typeof columns)[]
  const widths = names.map((name) => Math.max(...[headings, ...cells].map((each) => each[name].length)))
  const lineOf = (each: Cells) =>
    `  ${names.map((name, i) => each[name].padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd()
  const lines = cells.flatMap((each, i) => {
    const isFirst = each.work !== cells[i - 1]?.work
    return isFirst ? [each.work, lineOf(each)] : [lineOf(each)]
  })
  return [title, lineOf(headings), ...lines].join('\n')
}

/** For the README: the rows that have a target. */
export function renderMarkdown(sections: readonly Section[]): string {
  const rows = sections.flatMap((section) => section.rows).filter(({ target }: Row) => target !== undefined)
  const names = Object.keys(headings) as (keyof Cells)[]
  const lineOf = (cells: Cells) => `| ${names.map((name) => cells[name]).join(' | ')} |`
  return [
    lineOf(headings),
    `|${'---|'.repeat(names.length)}`,
    ...rows.map((row) => lineOf(cellsOf(row))),
  ].join('\n')
}
