import { type Chapter, chapters, findChapter, readChapter } from '../manual/chapters.ts'
import { RELEASED, version } from '../version.ts'
import { align } from './columns.ts'
import { type Command, firstWordOf, notesOf, verbOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { serverSentences, usageOf } from './help.ts'
import { type Block, linkedChapters, parseMarkdown } from './markdown.ts'
import { describeFlags } from './options.ts'

const BOLD = ['\\fB', '\\fR'] as const
const ITALIC = ['\\fI', '\\fR'] as const

/** A page of the system's manual. */
export interface ManPage {
  readonly name: string
  /** 1 for commands, 7 for chapters. */
  readonly section: ManSection
  /** In the macros of man(7). */
  text(): string
}

/** `connbook`, then one page for each command or family of commands, then one for each chapter. */
export function manPages(commands: readonly Command[]): readonly ManPage[] {
  const families = [...new Set(commands.map(({ name }) => firstWordOf(name)))]
  return [
    { name: 'connbook', section: 1, text: () => overview(commands) },
    ...families.map((family): ManPage => {
      const name = `connbook-${family}`
      const members = commands.filter((command) => firstWordOf(command.name) === family)
      return { name, section: 1, text: () => familyPage(name, members, findChapter(family)) }
    }),
    ...chapters.map((chapter): ManPage => {
      const name = `connbook-${chapter.name}`
      return { name, section: 7, text: () => chapterPage(name, chapter, families.includes(chapter.name)) }
    }),
  ]
}

function overview(commands: readonly Command[]): string {
  return roffPage([
    title('connbook', 1, 'named connection configurations, served over HTTP'),
    roffSection('synopsis'),
    `${roffBold('connbook')} [${roffItalic('COMMAND')}] [${roffItalic('FLAGS')}]\n`,
    roffSection('description'),
    roffParagraph(
      'connbook keeps named connection configurations (name, hostname, port, username) in one folder, and serves them over HTTP. Without a command it starts the server.',
    ),
    roffSection('commands'),
    ...commands.map(({ name, summary }) =>
      roffTagged(reference(`connbook-${firstWordOf(name)}`, 1), [`\`${name}\`: ${summary}`]),
    ),
    roffParagraph(serverSentences(commands)),
    roffSection('chapters'),
    ...chapters.map(({ name, summary }) => roffTagged(reference(`connbook-${name}`, 7), [summary])),
    roffSection('exit status'),
    ...Object.entries(exitCodes).map(([code, { meaning }]) => roffTagged(roffBold(code), [meaning])),
  ])
}

function familyPage(name: string, members: readonly Command[], chapter: Chapter | undefined): string {
  const [first] = members
  const isAlone = members.length === 1
  const verbs = members.flatMap((command) => verbOf(command) ?? [])
  const summary = isAlone ? (first?.summary ?? '') : verbs.join(', ')
  return roffPage([
    title(name, 1, summary),
    roffSection('synopsis'),
    ...members.map((command, i) => `${i === 0 ? '' : '.br\n'}${roffBold(usageOf(command))}\n`),
    ...members.flatMap((command) => commandParts(command, isAlone)),
    seeAlso(chapter === undefined ? [] : [reference(name, 7)]),
  ])
}

function commandParts(command: Command, isAlone: boolean): string[] {
  const { name, summary, examples, flags } = command
  const codes = Object.entries(command.exitCodes ?? {})
  const about = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`
  return [
    roffSection(isAlone ? 'description' : name),
    ...[about, ...notesOf(command)].map(roffParagraph),
    ...(examples.length === 0
      ? []
      : [
          roffCode(align(examples.map(([line, effect]) => (effect === '' ? [line] : [line, `# ${effect}`])))),
        ]),
    ...(flags.length === 0 ? [] : [heading('options', isAlone), ...flagParts(flags)]),
    ...(codes.length === 0 ? [] : [heading('exit status', isAlone)]),
    ...codes.map(([code, meaning]) => roffTagged(roffBold(code), [meaning])),
  ]
}

function heading(text: string, isAlone: boolean): string {
  return isAlone ? roffSection(text) : roffSubsection(text.charAt(0).toUpperCase() + text.slice(1))
}

function flagParts(flags: Command['flags']): string[] {
  return describeFlags(flags).map(({ usage, help, variables, fallback }) => {
    const [flag = '', placeholder] = usage.split(' ')
    const tag = roffBold(flag) + (placeholder === undefined ? '' : ` ${roffItalic(placeholder)}`)
    const origin = [
      variables.length === 0 ? '' : `Variable: ${variables.map((each) => `\`${each}\``).join(', then ')}.`,
      fallback === undefined ? '' : `Default: ${fallback}.`,
    ]
    return roffTagged(
      tag,
      [help, origin.filter((part) => part !== '').join(' ')].filter((text) => text !== ''),
    )
  })
}

function chapterPage(name: string, chapter: Chapter, isCommand: boolean): string {
  const text = readChapter(chapter)
  const isPlain = !/^## /m.test(text.split('\n\n')[1] ?? '')
  return roffPage([
    title(name, 7, chapter.summary),
    isPlain ? roffSection('description') : '',
    roffOfMarkdown(text),
    seeAlso([
      ...(isCommand ? [reference(name, 1)] : []),
      ...linkedChapters(text).map((linked) => reference(`connbook-${linked}`, 7)),
    ]),
  ])
}

/** @param pages Beside the first one: the page of the same name in the other section, then linked chapters. */
function seeAlso(pages: readonly string[]): string {
  return `${roffSection('see also')}${[reference('connbook', 1), ...pages].join(',\n')}\n`
}

function reference(name: string, section: ManSection): string {
  return `${roffBold(name)}(${section})`
}

function title(name: string, section: ManSection, summary: string): string {
  return roffPage([
    roffTitle(name, section, RELEASED, `connbook ${version}`),
    roffSection('name'),
    // makewhatis reads this line.
    `${name.replaceAll('-', '\\-')} \\- ${summary}\n`,
  ])
}

/** Sections of the system's manual (man-pages(7)). */
type ManSection = 1 | 7

/** The first lines of a page in the macros of man(7). @param date `YYYY-MM-DD`. */
function roffTitle(name: string, section: ManSection, date: string, source: string): string {
  return `.TH ${word(name.toUpperCase())} ${section} "${date}" ${word(source)} "connbook manual"\n`
}

function roffSection(title: string): string {
  return `.SH ${word(title.toUpperCase())}\n`
}

function roffSubsection(title: string): string {
  return `.SS ${word(title)}\n`
}

/** Puts the parts of a page together: the first paragraph of a section needs no `.PP`. */
function roffPage(parts: readonly string[]): string {
  return parts.join('').replaceAll(/^(\.S[HS] .*\n)\.PP\n/gm, '$1')
}

/** A paragraph with the inline marks of Markdown. */
export function roffParagraph(text: string): string {
  return `.PP\n${inline(text)}\n`
}

/** What stands at the margin, and the text indented below it. @param tag With its marks of roff. */
function roffTagged(tag: string, texts: readonly string[]): string {
  const [first = '', ...more] = texts
  return `.TP\n${tag}\n${inline(first)}\n${more.map((text) => `.br\n${inline(text)}\n`).join('')}`
}

/** Lines as they stand. */
export function roffCode(lines: readonly string[]): string {
  return `.PP\n.RS 4\n.EX\n${lines.map((line) => `${literal(line)}\n`).join('')}.EE\n.RE\n`
}

function roffBold(text: string): string {
  return protect(BOLD[0] + escapeRoff(text, true) + BOLD[1])
}

function roffItalic(text: string): string {
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
