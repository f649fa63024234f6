import { type Block, parseMarkdown } from './markdown-blocks.ts'

/** Sections of the system's manual (man-pages(7)). */
export type ManSection = 1 | 7

const BOLD = ['\\fB', '\\fR'] as const
const ITALIC = ['\\fI', '\\fR'] as const

/** The first lines of a page in the macros of man(7). @param date `YYYY-MM-DD`. */
export function roffTitle(name: string, section: ManSection, date: string, source: string): string {
  return `.TH ${word(name.toUpperCase())} ${section} "${date}" ${word(source)} "connbook manual"\n`
}

export function roffSection(title: string): string {
  return `.SH ${word(title.toUpperCase())}\n`
}

export function roffSubsection(title: string): string {
  return `.SS ${word(title)}\n`
}

/** Puts the parts of a page together: the first paragraph of a section needs no `.PP`. */
export function roffPage(parts: readonly string[]): string {
  return parts.join('').replaceAll(/^(\.S[HS] .*\n)\.PP\n/gm, '$1')
}

/** A paragraph with the inline marks of Markdown. */
export function roffParagraph(text: string): string {
  return `.PP\n${inline(text)}\n`
}

/** What stands at the margin, and the text indented below it. @param tag With its marks of roff. */
export function roffTagged(tag: string, texts: readonly string[]): string {
  const [first = '', ...more] = texts
  return `.TP\n${tag}\n${inline(first)}\n${more.map((text) => `.br\n${inline(text)}\n`).join('')}`
}

/** Lines as they stand. */
export function roffCode(lines: readonly string[]): string {
  return `.PP\n.RS 4\n.EX\n${lines.map((line) => `${literal(line)}\n`).join('')}.EE\n.RE\n`
}

export function roffBold(text: string): string {
  return protect(BOLD[0] + escapeRoff(text, true) + BOLD[1])
}

export function roffItalic(text: string): string {
  return protect(ITALIC[0] + escapeRoff(text, true) + ITALIC[1])
}

/** A chapter without its title. */
export function roffOfMarkdown(text: string): string {
  return parseMarkdown(text).map(blockText).join('')
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'heading':
      if (block.level === 1) return ''
      return block.level === 2 ? roffSection(block.text) : roffSubsection(block.text)
    case 'code':
      return roffCode(block.lines)
    case 'table':
      return block.rows.map((cells) => row(block.headings, cells)).join('')
    case 'items':
      return block.items
        .map(({ bullet, text }) => (bullet === '' ? roffParagraph(text) : listed(bullet.trim(), text)))
        .join('')
  }
}

function listed(bullet: string, text: string): string {
  return `.IP ${bullet === '-' ? '\\(bu' : word(bullet)} 4\n${inline(text)}\n`
}

/** Each row becomes its first cell, and below it the others with their headings: tables of man pages do not fit screens. */
function row(headings: readonly string[], [first = '', ...others]: readonly string[]): string {
  const texts = others.flatMap((cell, i) => {
    if (cell === '') return []
    const heading = headings[i + 1] ?? ''
    return heading === '' ? [cell] : [`${heading}: ${cell}`]
  })
  return roffTagged(inline(first), texts)
}

/** One line of text: `code` and `**strong**` in bold, the text of a link in italics; an address follows its text. */
function inline(text: string): string {
  const parts = text.split(/(`[^`]*`|\*\*[^*]+\*\*|\[[^\]]*\]\([^)]*\))/)
  const roff = parts.map((part) => {
    if (/^`.*`$/s.test(part)) return BOLD[0] + breakable(escapeRoff(part.slice(1, -1), true)) + BOLD[1]
    if (/^\*\*.*\*\*$/s.test(part)) return BOLD[0] + escapeRoff(part.slice(2, -2), false) + BOLD[1]
    const [, title, target] = /^\[([^\]]*)\]\(([^)]*)\)$/.exec(part) ?? []
    if (title === undefined || target === undefined) return escapeRoff(part, false)
    if (/^https?:/.test(target)) return escapeRoff(`${title} <${target}>`, false)
    return ITALIC[0] + escapeRoff(title, false) + ITALIC[1]
  })
  return protect(roff.join(''))
}

/** Lets long code be broken behind `/`, `?` and `&`, without a hyphen. */
function breakable(code: string): string {
  return code.replaceAll(/[/?&](?=\w)/g, '$&\\:')
}

/** A line of code. */
function literal(line: string): string {
  return protect(escapeRoff(line, true))
}

/** A line that begins with a dot or an apostrophe would be a request. */
function protect(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line
}

/** @param isCode Whether hyphens must be copied as such. */
function escapeRoff(text: string, isCode: boolean): string {
  const escaped = text.replaceAll('\\', '\\e')
  const hyphens = isCode
    ? escaped.replaceAll('-', '\\-').replaceAll("'", '\\(aq').replaceAll('`', '\\(ga')
    : escaped
  const marks = hyphens.replaceAll('^', '\\(ha').replaceAll('~', '\\(ti')
  return marks.replaceAll(/[^\x20-\x7e]/gu, (character) => {
    return `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`
  })
}

/** An argument of a request. */
function word(text: string): string {
  return `"${escapeRoff(text, true).replaceAll('"', '\\(dq')}"`
}
