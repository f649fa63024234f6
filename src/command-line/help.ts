import { UsageError } from '../errors.ts'
import { chapters, findChapter, readChapter } from '../manual/chapters.ts'
import { allOf } from '../text.ts'
import { align, wrap } from './columns.ts'
import {
  type Command,
  firstWordOf,
  notesOf,
  parseVerb,
  type ServerState,
  unknownCommand,
  verbOf,
  verbsOf,
} from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { renderMarkdown } from './markdown.ts'
import { adviceFor } from './nearest.ts'
import { describeFlags, type FlagDescription } from './options.ts'
import { heading, type TerminalStyle } from './terminal-style.ts'

const COLUMNS = 80

const overviewExamples: Command['examples'] = [
  ['connbook', 'serve here: port 8080, folder ./data'],
  ['connbook user add eve', 'add a user'],
  ['connbook backup backup.json', 'save everything in one file'],
  ['connbook help serve', 'all flags of the server'],
  ['connbook help start', 'the first chapter of the manual'],
]

/**
 * The help for the command, the family (such as `user`) or the chapter that the words name, or else for the whole
 * program. Where a word names both a command and a chapter, the chapter comes last; with `--help` only its name does.
 *
 * @throws {UsageError} for an unknown word, naming the nearest.
 */
export function helpFor(
  commands: readonly Command[],
  words: readonly string[],
  style: TerminalStyle,
): string {
  const [head = ''] = words
  const isOfServer = isFlag(head) && head !== '--help' && head !== '-h'
  const [first, ...rest] = isOfServer ? ['serve'] : words.filter((word, i) => i > 0 || !isFlag(word))
  if (first === undefined) return overview(commands, style)
  const family = commands.filter(({ name }) => firstWordOf(name) === first)
  const verb = verbOfFamily(first, family, rest)
  const usage = usageOfFamily(first, family, verb, style)
  const chapter = verb === undefined ? findChapter(first) : undefined
  if (words.some(isFlag)) {
    if (usage === undefined) throw unknownCommand(commands, first)
    return `${usage}${chapter === undefined ? '' : `\nThere is a chapter, too: connbook help ${first}\n`}`
  }
  const text = chapter === undefined ? undefined : renderMarkdown(readChapter(chapter), style)
  const parts = [usage, text].filter((part) => part !== undefined)
  if (parts.length > 0) return parts.join('\n')
  const known = [...commands.map(({ name }) => firstWordOf(name)), ...chapters.map(({ name }) => name)]
  throw new UsageError(`There is no help on "${first}"; ${adviceFor(first, known, 'see connbook help')}`)
}

/** The verb among the words after a family. @throws {UsageError} when another word follows the family at once. */
function verbOfFamily(
  first: string,
  family: readonly Command[],
  rest: readonly string[],
): string | undefined {
  const verbs = verbsOf(family)
  const [next] = rest
  // Later words may be values of flags.
  if (verbs.length > 0 && next !== undefined && !isFlag(next)) parseVerb(first, verbs, next)
  return rest.find((word) => verbs.includes(word))
}

function usageOfFamily(
  first: string,
  family: readonly Command[],
  verb: string | undefined,
  style: TerminalStyle,
): string | undefined {
  const command = family.length === 1 ? family[0] : family.find((each) => verbOf(each) === verb)
  if (command !== undefined) return commandHelp(command, style)
  return family.length === 0 ? undefined : familyHelp(first, family, style)
}

function overview(commands: readonly Command[], style: TerminalStyle): string {
  const codes = Object.entries(exitCodes).flatMap(([code, described]) =>
    'brief' in described ? [[code, described.brief]] : [],
  )
  return page([
    ['connbook keeps named connection configurations and serves them over HTTP'],
    exampleLines(overviewExamples),
    [heading('Commands', style), ...summaryLines(commands, [['--version', 'show the version']])],
    [
      heading('Chapters of the manual', style),
      ...indent(align(chapters.map(({ name, summary }) => [name, summary]))),
    ],
    wrap(
      'To read about a command or a chapter: connbook help TOPIC. A flag overrides its environment variable.',
      COLUMNS,
    ),
    wrap(serverSentences(commands), COLUMNS),
    [heading('Exit codes', style), ...indent(align(codes))],
  ])
}

/** Which commands need a running or a stopped server. */
export function serverSentences(commands: readonly Command[]): string {
  const sentences = (['running', 'stopped'] satisfies ServerState[]).map((state) => {
    const names = commands.filter(({ server }) => server === state).map(({ name }) => name)
    return `The server must be ${state} for ${allOf(names)}.`
  })
  return [...sentences, 'All other commands work while it runs and while it is stopped.'].join(' ')
}

function familyHelp(family: string, commands: readonly Command[], style: TerminalStyle): string {
  return page([
    exampleLines(commands.flatMap(({ examples }) => examples.slice(0, 1))),
    [heading('Commands', style), ...summaryLines(commands)],
    [`For the flags of each: connbook help ${family} ${verbsOf(commands)[0]}, and so on`],
  ])
}

function commandHelp(command: Command, style: TerminalStyle): string {
  const flags = describeFlags(command.flags)
  const codes = Object.entries(command.exitCodes ?? {})
  const { summary } = command
  return page([
    [heading(usageOf(command), style)],
    exampleLines(command.examples),
    wrap(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, COLUMNS),
    ...notesOf(command).map((note) => wrap(note, COLUMNS)),
    ...(flags.length === 0 ? [] : [[heading('Flags and environment variables', style), ...flagLines(flags)]]),
    ...(codes.length === 0 ? [] : [[heading('Exit codes', style), ...indent(align(codes))]]),
  ])
}

/** How a command is typed. */
export function usageOf({ name, operands, flags }: Pick<Command, 'name' | 'operands' | 'flags'>): string {
  const typed = name === 'serve' ? '[serve]' : name
  return ['connbook', typed, operands, flags.length === 0 ? undefined : '[FLAGS]']
    .filter((part) => part !== undefined)
    .join(' ')
}

function exampleLines(examples: Command['examples']): string[] {
  return indent(align(examples.map(([line, effect]) => (effect === '' ? [line] : [line, `# ${effect}`]))))
}

function summaryLines(commands: readonly Command[], more: readonly (readonly string[])[] = []): string[] {
  const rows = commands.map(({ name, operands, summary }) => [
    [name, operands ?? ''].join(' ').trim(),
    summary,
  ])
  return indent(align([...rows, ...more]))
}

/** Per flag: what it does, then its variables and default. */
function flagLines(flags: readonly FlagDescription[]): string[] {
  const gap = '  '
  const left = Math.max(...flags.map(({ usage }) => usage.length))
  const width = COLUMNS - 2 * gap.length - left
  return flags.flatMap(({ usage, help, variables, fallback }) => {
    const origin = [variables.join(', then '), fallback === undefined ? '' : `default: ${fallback}`]
    const right = [help, origin.filter((part) => part !== '').join('; ')]
      .filter((text) => text !== '')
      .flatMap((text) => wrap(text, width))
    return right.map((line, i) => `${gap}${(i === 0 ? usage : '').padEnd(left)}${gap}${line}`)
  })
}

function isFlag(word: string): boolean {
  return word.startsWith('-')
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

function page(paragraphs: readonly (readonly string[])[]): string {
  return `${paragraphs.map((lines) => lines.join('\n')).join('\n\n')}\n`
}
