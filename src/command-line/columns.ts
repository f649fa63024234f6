import { heading, type Look } from './look.ts'

const GAP = '  '
const combining = /[\p{Mn}\p{Me}\p{Cf}]/u
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u

/** Rows under their headings, each column as wide as its widest cell; a line each, with no space at its end. */
export function alignColumns(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  look: Look,
): string[] {
  const lines = align([headings, ...rows])
  return lines.map((line, i) => (i === 0 ? heading(line, look) : line))
}

/** Rows without headings. */
export function align(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  }
  return rows.map((row) =>
    row
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd(),
  )
}

/** A text in lines of at most `width` characters, broken between words; a longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Cells of a terminal. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += combining.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}
