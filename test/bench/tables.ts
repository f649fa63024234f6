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

const markdownColumns: Columns = [
  ['work', 'work'],
  ['figure', 'figure'],
  ['comparedWith', 'compared with'],
  ['result', 'median (lowest–highest)'],
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

/** The rows that have a target, without the values of what is compared with, for the README. */
export function renderMarkdown(sections: readonly Section[]): string {
  const rows = sections.flatMap((section) => section.rows).filter(({ target }) => target !== undefined)
  const lineOf = (texts: readonly string[]) => `| ${texts.join(' | ')} |`
  return [
    lineOf(markdownColumns.map(([, heading]) => heading)),
    `|${'---|'.repeat(markdownColumns.length)}`,
    ...rows.map(cellsOf).map((cells) => lineOf(markdownColumns.map(([name]) => cells[name]))),
  ].join('\n')
}
