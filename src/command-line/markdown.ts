import { fitTable, wrap } from './columns.ts'
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

/** A part of a chapter, with its inline marks. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  | {
      readonly kind: 'table'
      readonly headings: readonly string[]
      readonly rows: readonly (readonly string[])[]
    }
  | { readonly kind: 'items'; readonly items: readonly Item[] }

/** An item of a list; a paragraph is one item without a bullet. */
interface Item {
  /** `- `, `1. ` or empty. */
  readonly bullet: string
  /** On one line. */
  readonly text: string
}

/**
 * Splits a chapter into its parts.
 *
 * Knows the Markdown of `src/manual/`: headings, paragraphs, lists, fenced code, tables, comments.
 */
export function parseMarkdown(text: string): Block[] {
  return chunksOf(text.replaceAll(/^<!--.*-->\n/gm, '')).flatMap(blocksOf)
}

/** Names of the chapters that a text links to, each once, in order. Links inside code do not count. */
export function linkedChapters(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$|`[^`]*`/gm, '')
  const links = prose.matchAll(/\[[^\]]*\]\((\w+)\.md(?:#[^)]*)?\)/g)
  return [...new Set(Array.from(links, ([, name = '']) => name))]
}

/** Blank lines separate chunks, except inside code. */
function chunksOf(text: string): string[][] {
  const chunks: string[][] = [[]]
  let isCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    if (line === '' && !isCode) chunks.push([])
    else chunks.at(-1)?.push(line)
  }
  return chunks.filter((lines) => lines.length > 0)
}

function blocksOf(lines: readonly string[]): Block[] {
  const [first = ''] = lines
  if (first.startsWith('```')) return [{ kind: 'code', lines: lines.slice(1, -1) }]
  if (first.startsWith('#'))
    return lines.map((line) => {
      const [marks = '', level = ''] = /^(#+) /.exec(line) ?? []
      return { kind: 'heading', level: level.length, text: line.slice(marks.length) }
    })
  if (!first.startsWith('|')) return [{ kind: 'items', items: itemsOf(lines) }]
  const [headings = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
  return [{ kind: 'table', headings, rows }]
}

function itemsOf(lines: readonly string[]): Item[] {
  const items: Item[] = []
  for (const line of lines) {
    const bullet = /^(?:-|\d+\.) /.exec(line)?.[0] ?? ''
    const last = items.at(-1)
    if (last === undefined || bullet !== '') items.push({ bullet, text: line.slice(bullet.length) })
    else items[items.length - 1] = { ...last, text: `${last.text} ${line.trimStart()}` }
  }
  return items
}
