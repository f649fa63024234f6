import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Figure, figures } from './figure.ts'
import { numberText, targetText } from './report.ts'
import { type Target, type Verdict, verdictOf } from './row.ts'
import type { Run, RunRow } from './run.ts'

/** The runs that the repository shows, a file each. */
export const runsFolder = fileURLToPath(new URL('runs/', import.meta.url))

/** What all runs gave in one row. */
export interface PublishedRow {
  readonly work: string
  readonly figure: Figure
  readonly comparedWith: string
  readonly target: Target
  /** One of each run, the earliest first. */
  readonly medians: readonly number[]
  readonly rounds: readonly number[]
  /** The least of all rounds of all runs. */
  readonly min: number
  readonly max: number
  readonly verdict: Verdict
  readonly isGeneratorLimited: boolean
}

/** The earliest first. */
export async function readRuns(folder = runsFolder): Promise<Run[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.map((text): Run => JSON.parse(text)).toSorted((a, b) => (a.date < b.date ? -1 : 1))
}

/**
 * One row for all runs that have it, in the order of the run with most rows. The targets are those of the last run.
 *
 * The verdict is that of the runs if they agree.
 *
 * @param runs The earliest first; a run may have some rows only.
 */
export function mergeRuns(runs: readonly Run[]): PublishedRow[] {
  const longestFirst = runs.toSorted((a, b) => b.rows.length - a.rows.length)
  const keys = new Set(longestFirst.flatMap(({ rows }) => rows.map(keyOf)))
  return [...keys].flatMap((key) => {
    const rows = runs.flatMap((run) => run.rows.filter((row) => keyOf(row) === key))
    const last = rows.at(-1)
    return last ? [merge(rows, last)] : []
  })
}

function keyOf({ work, figure, comparedWith }: RunRow): string {
  return JSON.stringify([work, figure, comparedWith])
}

function merge(rows: readonly RunRow[], { work, figure, comparedWith = '', target }: RunRow): PublishedRow {
  const verdicts = new Set(rows.map((row) => verdictOf(target, row)))
  const [verdict = 'cannot be told apart'] = verdicts
  return {
    work,
    figure,
    comparedWith,
    target,
    medians: rows.map(({ median }) => median),
    rounds: rows.map(({ rounds }) => rounds),
    min: Math.min(...rows.map(({ min }) => min)),
    max: Math.max(...rows.map(({ max }) => max)),
    verdict: verdicts.size === 1 ? verdict : 'cannot be told apart',
    isGeneratorLimited: rows.some((row) => row.isGeneratorLimited),
  }
}

/** The medians of the runs: the lowest and the highest, or the one that all have. */
export function mediansText({ medians, figure, target }: PublishedRow, unit = 1, digits?: number): string {
  const shown = digits ?? (target.of === 'ratio' ? 2 : figures[figure].digits)
  const low = numberText(Math.min(...medians) / unit, shown)
  const high = numberText(Math.max(...medians) / unit, shown)
  return low === high ? low : `${low}–${high}`
}

/** The lines of the Markdown table of all rows. */
export function publishedTable(rows: readonly PublishedRow[]): string[] {
  const head = ['work', 'figure', 'compared with', 'median', 'lowest–highest', 'rounds', 'target', '']
  const cells = rows.map((row) => {
    const isRatio = row.target.of === 'ratio'
    const digits = isRatio ? 2 : figures[row.figure].digits
    const unit = isRatio ? ' ×' : ''
    return [
      row.work,
      figures[row.figure].label,
      row.comparedWith,
      `${mediansText(row)}${row.isGeneratorLimited ? '*' : ''}${unit}`,
      `${numberText(row.min, digits)}–${numberText(row.max, digits)}${unit}`,
      row.rounds.join(' + '),
      targetText(row.target),
      row.verdict,
    ]
  })
  return markdownTable(head, cells)
}

/** The lines of the Markdown table of where and when it was measured. */
export function runsTable(runs: readonly Run[]): string[] {
  const cells = runs.map(({ date, machine: { cpu, cores, system, node, loadAverage }, generator, rows }) => [
    date.slice(0, 'YYYY-MM-DD'.length),
    `${cores} × ${cpu.replaceAll(/\((?:R|TM)\)/g, '')}`,
    `${system}, Node ${node.replace('v', '')}, ${generator}`,
    numberText(loadAverage, 1),
    String(rows.length),
  ])
  return markdownTable(['day', 'processor cores', 'system', 'load before the run', 'rows'], cells)
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lineOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [lineOf(head), `|${'---|'.repeat(head.length)}`, ...rows.map(lineOf)]
}
