import { wrap } from './columns.ts'
import { fitTable } from './fitted-table.ts'
import { heading, type Look } from './look.ts'

const BODY = '  '
const CODE = '      '
/** Longer code in a sentence may be broken. */
const CODE_CHARACTERS_MAX = 34
const NO_BREAK = '\u00a0'

/**
 * Lays out a chapter for a terminal or a pipe: headings at the margin, all else indented; text and tables fitted to
 * `look.columns`, code as it stands.
 *
 * Knows the Markdown of `src/manual/`: headings, paragraphs, lists, fenced code, tables, comments, `**strong**`, links.
 */
export function renderMarkdown(text: string, look: Look): string {
  const blocks = blocksOf(text.replaceAll(/^<!--.*-->\n/gm, '')).map((lines) => renderBlock(lines, look))
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

/** Blank lines separate blocks, except inside code. */
function blocksOf(text: string): string[][] {
  const blocks: string[][] = [[]]
  let isCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    if (line === '' && !isCode) blocks.push([])
    else blocks.at(-1)?.push(line)
  }
  return blocks.filter((lines) => lines.length > 0)
}

function renderBlock(lines: readonly string[], look: Look): string[] {
  const [first = ''] = lines
  const width = look.columns - BODY.length
  if (first.startsWith('```')) return indent(lines.slice(1, -1), CODE)
  if (first.startsWith('#')) return lines.map((line) => heading(plain(line.replace(/^#+ /, '')), look))
  if (first.startsWith('|')) return indent(renderTable(lines, width, look), BODY)
  return indent(
    itemsOf(lines).flatMap((item) => renderItem(item, width)),
    BODY,
  )
}

/** The items of a list, each as one line; a paragraph is one item without a bullet. */
function itemsOf(lines: readonly string[]): string[] {
  const items: string[] = []
  for (const line of lines) {
    const last = items.at(-1)
    if (last === undefined || bulletOf(line) !== '') items.push(line)
    else items[items.length - 1] = `${last} ${line.trimStart()}`
  }
  return items
}

function renderItem(item: string, width: number): string[] {
  const bullet = bulletOf(item)
  const lines = wrap(keepCodeWhole(plain(item.slice(bullet.length))), width - bullet.length)
  return lines.map((line, i) =>
    ((i === 0 ? bullet : ' '.repeat(bullet.length)) + line).replaceAll(NO_BREAK, ' '),
  )
}

/** Short code is copied by hand or mouse, and stays on one line. */
function keepCodeWhole(text: string): string {
  return text.replaceAll(/`[^`]+`/g, (code) =>
    code.length > CODE_CHARACTERS_MAX ? code : code.replaceAll(' ', NO_BREAK),
  )
}

function bulletOf(line: string): string {
  return /^(?:-|\d+\.) /.exec(line)?.[0] ?? ''
}

function renderTable(lines: readonly string[], width: number, look: Look): string[] {
  const [headings = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => plain(cell.trim().replaceAll('\\|', '|'))),
  )
  return fitTable(headings, rows, { ...look, columns: width })
}

/** Without the marks of strong text; a link to a chapter becomes the command that shows it. */
function plain(text: string): string {
  return text.replaceAll(/`[^`]*`|[^`]+/g, (part) => (part.startsWith('`') ? part : plainProse(part)))
}

function plainProse(text: string): string {
  return text
    .replaceAll(/\[[^\]]*\]\((\w+)\.md(?:#[^)]*)?\)/g, '`connbook help $1`')
    .replaceAll(/\[([^\]]*)\]\(#[^)]*\)/g, '$1')
    .replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, '$1 <$2>')
    .replaceAll('**', '')
}

function indent(lines: readonly string[], by: string): string[] {
  return lines.map((line) => (line === '' ? '' : by + line))
}
