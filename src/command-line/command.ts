import type { Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { wordForShell } from '../shell.ts'
import { type CommandLine, parseCommandLine } from './command-line.ts'
import type { Look } from './look.ts'
import { adviceFor, findNearest } from './nearest.ts'
import { describeFlags, type Options, takesValue } from './options.ts'
import type { Print } from './output.ts'

/** The streams and variables of the process that a command runs in. */
export interface CommandContext {
  readonly environment: NodeJS.ProcessEnv
  /** Standard input. */
  readonly input: Readable & { readonly isTTY?: boolean }
  /** Writes to standard output. */
  readonly print: Print
  /** How standard output may look. */
  readonly look: Look
  /** Standard error. */
  readonly screen: Screen
}

export interface Screen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** A command line, parsed as the command declares it. */
export interface CommandInput<Flag extends keyof Options = never, Required extends Flag = never> {
  readonly options: Pick<Options, Flag> & { readonly [Name in Required]: NonNullable<Options[Name]> }
  /** As `CommandLine` has it. */
  readonly given: CommandLine['given']
  /** The words behind the name: as many as `operands` says. */
  readonly operands: readonly string[]
}

/** What a person can type behind `connbook`; the parser and the help are made from it. */
export interface Command<Flag extends keyof Options = keyof Options, Required extends Flag = never> {
  /** Such as "check" or "user add". */
  readonly name: string
  /** The word behind the name, such as "NAME"; in brackets where it may be left out. */
  readonly operands?: string
  /** How many such words there may be; 1 when not given. */
  readonly operandsMax?: number
  /** Another form of what stands behind the name, for the line that tells how to write it: "-". */
  readonly otherOperand?: string
  /** What it does, as an imperative that begins small and ends without a full stop. */
  readonly summary: string
  /** Lines to paste, each with what it does. */
  readonly examples: readonly (readonly [line: string, effect: string])[]
  /** Paragraphs for what the summary leaves open. */
  readonly notes?: readonly string[]
  readonly flags: readonly Flag[]
  /** A flag that must be given. */
  readonly requires?: Required | undefined
  /** Whether it leaves the variables of the environment alone. */
  readonly ignoresVariables?: boolean
  /** Those that mean something particular here. */
  readonly exitCodes?: Readonly<Record<number, string>>
  run(input: CommandInput<Flag, Required>, context: CommandContext): Promise<void>
}

/** What exit code 65 means to most commands. */
export const DAMAGED = 'damaged data, named with file, place and remedy'

/** What exit code 75 means. */
export const IN_USE = 'the data folder is in use by another process'

/** A row of the table of commands; `run` sees only the flags that the row declares. */
export function defineCommand<const Flag extends keyof Options, const Required extends Flag = never>(
  command: Command<Flag, Required>,
): Command {
  return command as unknown as Command
}

/**
 * Parses what stands behind the first word of a command line, and runs the command.
 *
 * @param family The commands that begin with that word, as `getFamily` gives them.
 * @param args Flags may stand before the second word of a name.
 * @throws {UsageError} for a command line that it does not understand; also what the command throws.
 */
export async function runCommand(
  family: readonly [Command, ...Command[]],
  args: readonly string[],
  context: CommandContext,
): Promise<void> {
  const [first] = family
  const isAlone = verbOf(first) === undefined
  // Which flags there are depends on the second word; until that is found, all of the family are known.
  const all = isAlone ? [] : family.flatMap(({ flags }) => flags)
  const [verb] = isAlone ? [] : parseCommandLine(args, {}, all).words
  if (!isAlone) parseVerb(firstWordOf(first.name), verbsOf(family), verb)
  const command = family.find((each) => verbOf(each) === verb) ?? first
  const environment = command.ignoresVariables ? {} : context.environment
  const { options, given, words } = parseCommandLine(args, environment, command.flags)
  const operands = isAlone ? words : words.slice(1)
  checkComplete(command, operands, options)
  await command.run({ options, given, operands }, context)
}

/** @throws {UsageError} that tells every way to write it. */
function checkComplete(command: Command, words: readonly string[], options: Options) {
  const { name, operands, operandsMax = 1, requires } = command
  const isOptional = operands?.startsWith('[') ?? true
  const most = operands === undefined ? 0 : operandsMax
  const hasRequired = requires === undefined || options[requires] !== undefined
  if (words.length <= most && (isOptional || words.length > 0) && hasRequired) return
  if (name === 'serve') throw new UsageError(`Unknown command "${words.join(' ')}"; see connbook help`)
  throw new UsageError(`Write it as: ${formsOf(command, isOptional).join(', or: ')}`)
}

function formsOf({ name, operands, otherOperand, requires }: Command, isOptional: boolean): string[] {
  const [flag] = describeFlags(requires === undefined ? [] : [requires])
  const needed = flag === undefined ? '' : `${flag.usage}, one of ${flag.choices.join(', ')}`
  return (isOptional ? ['', operands?.slice(1, -1)] : [operands, otherOperand])
    .filter((form) => form !== undefined)
    .map((form) => ['connbook', name, form, needed].filter((part) => part !== '').join(' '))
}

/**
 * The commands that begin with a word: one, or all of a family such as `user`.
 *
 * @throws {UsageError} when there is none.
 */
export function getFamily(commands: readonly Command[], word: string): [Command, ...Command[]] {
  const [first, ...more] = commands.filter(({ name }) => firstWordOf(name) === word)
  if (first !== undefined) return [first, ...more]
  const known = [...commands.map(({ name }) => firstWordOf(name)), '--version']
  throw new UsageError(`Unknown command "${word}"; ${adviceFor(word, known, 'see connbook help')}`)
}

/**
 * For a line that begins with a flag.
 *
 * @throws {UsageError} with the line in its right order, when a command stands behind the flags.
 */
export function checkOrder(commands: readonly Command[], args: readonly string[]): void {
  const end = args.indexOf('--')
  const ordered = end === -1 ? args : args.slice(0, end)
  const at = ordered.findIndex((arg, i) => !arg.startsWith('-') && !takesValue(args[i - 1]))
  const takesFlags = commands.some(({ name, flags }) => firstWordOf(name) === args[at] && flags.length > 0)
  if (!takesFlags) return
  const line = [...ordered.slice(at), ...args.slice(0, at), ...args.slice(ordered.length)]
  throw new UsageError(`Flags come after the command: connbook ${line.map(wordForShell).join(' ')}`)
}

/**
 * The second word of a command of a family.
 *
 * @param family Such as "user".
 * @throws {UsageError} when it is none of the verbs.
 */
export function parseVerb(family: string, verbs: readonly string[], word: string | undefined): string {
  const verb = verbs.find((known) => known === word)
  if (verb !== undefined) return verb
  const nearest = word === undefined ? undefined : findNearest(word, verbs)
  const advice = nearest === undefined ? `it takes ${verbs.join(', ')}` : `did you mean ${family} ${nearest}?`
  throw new UsageError(`Unknown command "${[family, word ?? ''].join(' ').trim()}"; ${advice}`)
}

/** The second words of the names of a family. */
export function verbsOf(family: readonly Command[]): string[] {
  return family.flatMap((command) => verbOf(command) ?? [])
}

/** The second word of a name; undefined when it has only one. */
export function verbOf({ name }: Command): string | undefined {
  return name.split(' ')[1]
}

function firstWordOf(name: string): string {
  return name.split(' ')[0] ?? name
}
