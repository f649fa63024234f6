import { wrap } from './columns.ts'
import { fitTable } from './fitted-table.ts'
import { type Block, type Item, linkedChapters, parseMarkdown } from './markdown-blocks.ts'
import { heading, type TerminalStyle } from './terminal-style.ts'

const BODY = '  '
const CODE = '      '
/** Longer code in a sentence may be broken. */
const CODE_CHARACTERS_MAX = 34
const NO_BREAK = '\u00a0'

/**
 * Lays out a chapter for a terminal or a pipe: headings at the margin, all else indented; text and tables fitted to
 * `style.columns`, code as it stands. Text keeps the words of its links; the commands that show the linked chapters
 * stand on a line below it.
 *
 * Knows the Markdown of `parseMarkdown`, and `**strong**`, links and code within it.
 */
export function renderMarkdown(text: string, style: TerminalStyle): string {
  const blocks = parseMarkdown(text).map((block) => renderBlock(block, style).join('\n'))
  return `${blocks.join('\n\n')}\n`
}

function renderBlock(block: Block, style: TerminalStyle): string[] {
  const width = style.columns - BODY.length
  switch (block.kind) {
    case 'heading':
      return [heading(plain(block.text), style)]
    case 'code':
      return indent(block.lines, CODE)
    case 'table': {
      const rows = block.rows.map((cells) => cells.map(plain))
      const lines = fitTable(block.headings.map(plain), rows, { ...style, columns: width })
      return indent([...lines, ...chapterLines(block.rows.flat().join(' '), width)], BODY)
    }
    case 'items':
      return indent(
        block.items.flatMap((item) => renderItem(item, width)),
        BODY,
      )
  }
}

function renderItem({ bullet, text }: Item, width: number): string[] {
  const inner = width - bullet.length
  const lines = [...wrapWithCode(plain(text), inner), ...chapterLines(text, inner)]
  return lines.map((line, i) => (i === 0 ? bullet : ' '.repeat(bullet.length)) + line)
}

/** How to read the chapters that a text links to; no line where it links to none. */
function chapterLines(text: string, width: number): string[] {
  const names = linkedChapters(text)
  if (names.length === 0) return []
  return wrapWithCode(`(${names.map((name) => `\`connbook help ${name}\``).join(', ')})`, width)
}

function wrapWithCode(text: string, width: number): string[] {
  return wrap(keepCodeWhole(text), width).map((line) => line.replaceAll(NO_BREAK, ' '))
}

/** Short code is copied by hand or mouse, and stays on one line. */
function keepCodeWhole(text: string): string {
  return text.replaceAll(/`[^`]+`/g, (code) =>
    code.length > CODE_CHARACTERS_MAX ? code : code.replaceAll(' ', NO_BREAK),
  )
}

/** Without the marks of strong text and of links; the address of a link to the web follows its text. */
function plain(text: string): string {
  return text.replaceAll(/`[^`]*`|[^`]+/g, (part) => (part.startsWith('`') ? part : plainProse(part)))
}

function plainProse(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\((https?:[^)]*)\)/g, '$1 <$2>')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
}

function indent(lines: readonly string[], by: string): string[] {
  return lines.map((line) => (line === '' ? '' : by + line))
}
