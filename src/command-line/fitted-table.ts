import { align, type Cells, widthOf, wrap } from './columns.ts'
import { heading, type TerminalStyle } from './terminal-style.ts'

const GAP = 2
/** Text in a narrower column is hard to read. */
const TEXT_COLUMN_MIN = 20

/**
 * A table that fits `style.columns`: long cells are broken into lines. Where the columns would be too narrow, each row
 * becomes its first cell, and below it the others with their headings.
 */
export function fitTable(headings: Cells, rows: readonly Cells[], style: TerminalStyle): string[] {
  const widths = fitColumns([headings, ...rows], style.columns - GAP * (headings.length - 1))
  if (widths === undefined) return listRows(headings, rows, style)
  const lines = [headings, ...rows].map((row) => breakCells(row, widths))
  const isHeading = lines.flatMap((parts, i) => parts.map(() => i === 0))
  return align(lines.flat()).map((line, i) => (isHeading[i] ? heading(line, style) : line))
}

/** Shares the room out by what each column needs; undefined if it is not enough. */
function fitColumns(rows: readonly Cells[], room: number): number[] | undefined {
  const columns = (rows[0] ?? []).map((_, i) => {
    const cells = rows.map((row) => row[i] ?? '')
    const widest = Math.max(...cells.map(widthOf))
    const longestWord = Math.max(...cells.flatMap((cell) => cell.split(' ')).map(widthOf))
    return { widest, least: Math.min(widest, Math.max(longestWord, TEXT_COLUMN_MIN)) }
  })
  const spare = room - columns.reduce((sum, { least }) => sum + least, 0)
  if (spare < 0) return undefined
  const wanted = columns.reduce((sum, { widest, least }) => sum + widest - least, 0)
  const share = wanted === 0 ? 0 : Math.min(1, spare / wanted)
  return columns.map(({ widest, least }) => least + Math.floor((widest - least) * share))
}

/** The lines of a row. */
function breakCells(row: Cells, widths: readonly number[]): string[][] {
  const cells = widths.map((width, i) => wrap(row[i] ?? '', width))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, i) => cells.map((lines) => lines[i] ?? ''))
}

function listRows(headings: Cells, rows: readonly Cells[], style: TerminalStyle): string[] {
  const indent = ' '.repeat(GAP)
  return rows.flatMap(([first = '', ...others], i) => {
    const lines = others.flatMap((cell, column) => {
      if (cell === '') return []
      const name = headings[column + 1] ?? ''
      const text = name === '' ? cell : `${name}: ${cell}`
      return wrap(text, style.columns - GAP).map((line) => indent + line)
    })
    return [...(i === 0 ? [] : ['']), heading(first, style), ...lines]
  })
}
