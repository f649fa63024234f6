import { type Chapter, chapters, findChapter, readChapter } from '../manual/chapters.ts'
import { RELEASED, version } from '../version.ts'
import { align } from './columns.ts'
import { type Command, firstWordOf, notesOf, verbOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { serverSentences, usageOf } from './help.ts'
import { linkedChapters } from './markdown-blocks.ts'
import { describeFlags } from './options.ts'
import {
  type ManSection,
  roffBold,
  roffCode,
  roffItalic,
  roffOfMarkdown,
  roffPage,
  roffParagraph,
  roffSection,
  roffSubsection,
  roffTagged,
  roffTitle,
} from './roff.ts'

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
