import { align, wrap } from './columns.ts'
import { type Command, getFamily, parseVerb, verbOf, verbsOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { heading, type Look } from './look.ts'
import { describeFlags, type FlagDescription } from './options.ts'

const COLUMNS = 80

const overviewExamples: Command['examples'] = [
  ['connbook', 'serve here: port 8080, folder ./data'],
  ['connbook user add eve', 'let somebody in'],
  ['connbook backup backup.json', 'keep everything in one file'],
  ['connbook help serve', 'tell every flag of the server'],
]

/**
 * The help for the command or the family (such as `user`) that the words name, or else for the whole program.
 *
 * @throws {UsageError} for an unknown command, naming the nearest.
 */
export function helpFor(commands: readonly Command[], words: readonly string[], look: Look): string {
  const [head = ''] = words
  const isOfServer = isFlag(head) && head !== '--help' && head !== '-h'
  const [first, ...rest] = isOfServer ? ['serve'] : words.filter((word, i) => i > 0 || !isFlag(word))
  if (first === undefined) return overview(commands, look)
  const family = getFamily(commands, first)
  const [only, ...others] = family
  if (others.length === 0) return commandHelp(only, look)
  const byVerb = new Map(family.map((command) => [verbOf(command), command]))
  // Later words may be values of flags; the one right after the family must be a verb.
  const [next] = rest
  if (next !== undefined && !isFlag(next)) parseVerb(first, verbsOf(family), next)
  const verb = rest.find((word) => byVerb.has(word))
  const command = verb === undefined ? undefined : byVerb.get(verb)
  return command === undefined ? familyHelp(first, family, look) : commandHelp(command, look)
}

function overview(commands: readonly Command[], look: Look): string {
  const codes = Object.entries(exitCodes).flatMap(([code, told]) =>
    'brief' in told ? [[code, told.brief]] : [],
  )
  return page([
    ['connbook keeps named connection configurations and serves them over HTTP'],
    exampleLines(overviewExamples),
    [heading('Commands', look), ...summaryLines(commands, [['--version', 'tell the version']])],
    wrap(
      'Each command has a help of its own, with its flags: connbook help COMMAND, or connbook COMMAND --help. A flag beats its variable.',
      COLUMNS,
    ),
    wrap(
      'All that take --data, but for serve, restore and import, work while the server runs, and while it does not.',
      COLUMNS,
    ),
    [heading('Exit codes', look), ...indent(align(codes))],
  ])
}

function familyHelp(family: string, commands: readonly Command[], look: Look): string {
  return page([
    exampleLines(commands.flatMap(({ examples }) => examples.slice(0, 1))),
    [heading('Commands', look), ...summaryLines(commands)],
    [`For the flags of each: connbook help ${family} ${verbsOf(commands)[0]}, and so on`],
  ])
}

function commandHelp(command: Command, look: Look): string {
  const flags = describeFlags(command.flags)
  const codes = Object.entries(command.exitCodes ?? {})
  const { summary } = command
  return page([
    [heading(usageOf(command), look)],
    exampleLines(command.examples),
    wrap(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, COLUMNS),
    ...(command.notes ?? []).map((note) => wrap(note, COLUMNS)),
    ...(flags.length === 0
      ? []
      : [[heading('Flags, and the variables that they beat', look), ...flagLines(flags)]]),
    ...(codes.length === 0 ? [] : [[heading('Exit codes', look), ...indent(align(codes))]]),
  ])
}

function usageOf({ name, operands, flags }: Command): string {
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
