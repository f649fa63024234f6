import { alignTo, widestOf } from './columns.ts'
import { heading, type TerminalStyle } from './terminal-style.ts'

/** Rows that decide on the widths of the columns. */
const MEASURED_ROWS = 1_000

type Row = readonly string[]

/** A table of any length that is shown while its rows come. */
export interface StreamedTable {
  /** The text that can be shown now. */
  add(rows: readonly Row[]): string
  /** The rest; a table without rows is empty. */
  end(): string
}

/** The first MEASURED_ROWS rows decide how wide the columns are; a wider cell moves what follows it. */
export function createStreamedTable(headings: Row, style: TerminalStyle): StreamedTable {
  let waiting: Row[] | undefined = []
  let widths: readonly number[] = []

  const begin = (rows: readonly Row[]) => {
    waiting = undefined
    if (rows.length === 0) return ''
    widths = widestOf([headings, ...rows])
    const [first = '', ...others] = alignTo(widths, [headings, ...rows])
    return linesOf([heading(first, style), ...others])
  }
  return {
    add(rows) {
      if (waiting === undefined) return linesOf(alignTo(widths, rows))
      waiting.push(...rows)
      return waiting.length < MEASURED_ROWS ? '' : begin(waiting)
    },
    end: () => (waiting === undefined ? '' : begin(waiting)),
  }
}

/** Each with its newline. */
export function linesOf(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}
