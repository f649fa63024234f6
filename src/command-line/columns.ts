import type { Lines } from '../client/lines.ts'
import { heading, type TerminalStyle } from './terminal-style.ts'

/** Rows that decide on the widths of the columns. */
const MEASURED_ROWS = 1_000

/** Text in a narrower column is hard to read. */
const TEXT_COLUMN_MIN = 20

const GAP = '  '
const ELLIPSIS = '…'
/** A text whose characters take one cell each. */
const ASCII = /^[\x20-\x7e]*$/
/** Marks, what is not seen, and the second and third part of a Hangul syllable; a soft hyphen is seen. */
const NO_WIDTH = /(?!\xad)[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]/u
/** Two of them make a flag of two cells. */
const HALF_FLAG = /\p{Regional_Indicator}/u
/** East_Asian_Width W and F of Unicode 17 (UAX 11), which includes the emoji that are shown as such by themselves. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u
/** Shows the character before it as an emoji. */
const EMOJI_SELECTOR = '\ufe0f'
const NARROW_EMOJI = /\p{Emoji}/u
const SKIN_TONE = /\p{Emoji_Modifier}/u
const TONED = /\p{Emoji_Modifier_Base}/u

/** A table with a heading line; no line ends in a space. */
export function alignColumns(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  style: TerminalStyle,
): string[] {
  return align([headings, ...rows]).map((line, i) => (i === 0 ? heading(line, style) : line))
}

/** One line a row, with each column as wide as its widest cell. */
export function align(rows: readonly (readonly string[])[]): string[] {
  return alignTo(widestOf(rows), rows)
}

/** The width of the widest cell of each column. */
export function widestOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  }
  return widths
}

/** One line a row, with columns of given widths; a wider cell moves what follows it. */
export function alignTo(widths: readonly number[], rows: readonly (readonly string[])[]): string[] {
  return rows.map((row) =>
    row
      .map((cell, i) => cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell))))
      .join(GAP)
      .trimEnd(),
  )
}

/** Breaks a text between words into lines of at most `width` terminal cells; a longer word gets its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** The width of a text in terminal cells. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  let [width, before] = [0, '']
  for (const character of text) {
    width += widthAfter(before, character)
    before = character
  }
  return width
}

/** The cells that a character adds behind another one. */
function widthAfter(before: string, character: string): number {
  if (character === EMOJI_SELECTOR) return NARROW_EMOJI.test(before) && widthAfter('', before) === 1 ? 1 : 0
  if (NO_WIDTH.test(character)) return 0
  if (SKIN_TONE.test(character) && TONED.test(before)) return 0
  return WIDE.test(character) && !HALF_FLAG.test(character) ? 2 : 1
}

/** A text of at most `width` terminal cells; of a longer one the beginning, with `…` behind it. */
function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [cut, cells, before] = ['', 0, '']
  for (const character of text) {
    cells += widthAfter(before, character)
    if (cells >= width) break
    cut += character
    before = character
  }
  return cut.trimEnd() + ELLIPSIS
}

/** The texts of a row, one for each column. */
export type Cells = readonly string[]

/**
 * A table of any length that is shown while its rows come. The first MEASURED_ROWS rows decide how wide the columns are; a
 * wider cell moves what follows it. Lines are cut where the terminal ends.
 */
export class StreamedTable {
  readonly #headings: Cells
  readonly #style: TerminalStyle
  #waiting: Cells[] | undefined = []
  #widths: readonly number[] = []

  constructor(headings: Cells, style: TerminalStyle) {
    this.#headings = headings
    this.#style = style
  }

  /** The text that can be shown now. */
  add(rows: readonly Cells[]): string {
    if (this.#waiting === undefined) return linesOf(this.#lines(rows))
    this.#waiting.push(...rows)
    return this.#waiting.length < MEASURED_ROWS ? '' : this.#begin(this.#waiting)
  }

  /**
   * As `add`, for a row whose cells are ASCII, which takes a fraction of the time.
   *
   * @param writeCell Writes one of the cells.
   * @returns Whether it is written; not while the widths of the columns are still open.
   */
  write(lines: Lines, cells: number, writeCell: (i: number) => void): boolean {
    if (this.#waiting !== undefined) return false
    const { terminalColumns = Number.POSITIVE_INFINITY } = this.#style
    const start = lines.length
    let column = start
    for (let i = 0; i < cells; i++) {
      lines.padTo(column)
      writeCell(i)
      column = Math.max(lines.length, column + (this.#widths[i] ?? 0)) + GAP.length
    }
    lines.cutTo(lines.length, start)
    if (lines.length - start > terminalColumns) {
      lines.cutTo(start + terminalColumns - ELLIPSIS.length, start)
      lines.text(ELLIPSIS)
    }
    lines.text('\n')
    return true
  }

  /** The rest; a table without rows is empty. */
  end(): string {
    return this.#waiting === undefined ? '' : this.#begin(this.#waiting)
  }

  #begin(rows: readonly Cells[]): string {
    this.#waiting = undefined
    if (rows.length === 0) return ''
    this.#widths = widestOf([this.#headings, ...rows])
    const [first = '', ...others] = this.#lines([this.#headings, ...rows])
    return linesOf([heading(first, this.#style), ...others])
  }

  #lines(rows: readonly Cells[]): string[] {
    const { terminalColumns = Number.POSITIVE_INFINITY } = this.#style
    return alignTo(this.#widths, rows).map((line) => cutTo(line, terminalColumns))
  }
}

/**
 * A table that fits `style.columns`: long cells are broken into lines. Where the columns would be too narrow, each row
 * becomes its first cell, and below it the others with their headings.
 */
export function fitTable(headings: Cells, rows: readonly Cells[], style: TerminalStyle): string[] {
  const widths = fitColumns([headings, ...rows], style.columns - GAP.length * (headings.length - 1))
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
  return rows.flatMap(([first = '', ...others], i) => {
    const lines = others.flatMap((cell, column) => {
      if (cell === '') return []
      const name = headings[column + 1] ?? ''
      const text = name === '' ? cell : `${name}: ${cell}`
      return wrap(text, style.columns - GAP.length).map((line) => GAP + line)
    })
    return [...(i === 0 ? [] : ['']), heading(first, style), ...lines]
  })
}

/** Each with its newline. */
export function linesOf(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}
