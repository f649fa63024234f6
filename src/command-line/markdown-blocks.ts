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
export interface Item {
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
