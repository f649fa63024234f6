import type { Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { findChapter } from '../manual/chapters.ts'
import { adviceForTilde, wordForShell } from '../shell.ts'
import { type CommandLine, parseCommandLine } from './command-line.ts'
import { type CommandExitCodes, exitCodes } from './exit-codes.ts'
import { adviceFor, findNearest } from './nearest.ts'
import type { OpenedBooks } from './opened-books.ts'
import { describeFlags, type Options, specEntries, takesValue } from './options.ts'
import type { TerminalStyle } from './terminal-style.ts'

/** The streams and variables of the process that a command runs in. */
export interface CommandContext {
  readonly environment: NodeJS.ProcessEnv
  readonly input: Readable & { readonly isTTY?: boolean }
  /** Takes a text, or the bytes of one. */
  readonly print: (text: string | Uint8Array) => Promise<void>
  /** What standard output may use. */
  readonly style: TerminalStyle
  /** Standard error. */
  readonly screen: Screen
  /** Makes a text for people name the commands that work here; without it, they are those of `connbook`. */
  readonly typed?: (text: string) => string
  /** Let go of before anything is printed, and at the end of the command. */
  readonly opened: OpenedBooks
}

export interface Screen {
  readonly isTTY?: boolean
  /** Whether it is systemd's journal. */
  readonly isJournal?: boolean
  /** Shows a text, which on a terminal cannot control it. */
  write(text: string): unknown
  /** Writes a text as it is: on a terminal it may move the cursor. */
  draw(text: string): unknown
}

/**
 * Says how a read went, to a person who looks on. In a file or in cron's mail it would only be noise, so nothing is said
 * unless standard error is a terminal.
 */
export function tell(screen: Screen, text: string): void {
  if (screen.isTTY === true) screen.write(text)
}

export interface CommandInput<Flag extends keyof Options = never, Required extends Flag = never> {
  readonly options: Pick<Options, Flag> & { readonly [Name in Required]: NonNullable<Options[Name]> }
  readonly given: CommandLine['given']
  /** The words after the name. */
  readonly operands: readonly string[]
}

export type ServerState = 'running' | 'stopped'

/** One command; the parser and the help read this. */
export interface Command<Flag extends keyof Options = keyof Options, Required extends Flag = never> {
  /** "check" or "user add". */
  readonly name: string
  /** The word after the name: "NAME", or "[NAME]" where it is optional. */
  readonly operands?: string
  /** How many such words are allowed; 1 by default. */
  readonly operandsMax?: number
  /** Another form of the operand, for the usage message: "-". */
  readonly otherOperand?: string
  /** An imperative in lower case, without a full stop. */
  readonly summary: string
  /** What a shell offers for the operands; nothing by default. */
  readonly completes?: 'records' | 'files' | 'topics' | readonly string[]
  readonly examples: readonly (readonly [line: string, effect: string])[]
  /** How the server must be; undefined if the command works whether or not it runs. The help says it. */
  readonly server?: ServerState
  /** More paragraphs for the help. */
  readonly notes?: readonly string[]
  readonly flags: readonly Flag[]
  /** Whether every word after the first operand is an operand, whatever it looks like. */
  readonly passesOn?: true
  /** A flag that must be given. */
  readonly requires?: Required | undefined
  readonly ignoresVariables?: boolean
  /** Codes with a meaning of their own here. */
  readonly exitCodes?: CommandExitCodes
  run(input: CommandInput<Flag, Required>, context: CommandContext): Promise<void>
}

/** Help for exit codes 3 and 4. */
export const UNKNOWN = 'no such account; nothing has changed'
export const EXISTS = 'the account exists already; nothing has changed'

/** Help for exit code 65. */
export const DAMAGED = exitCodes[65].meaning

/** Help for exit code 75. */
export const IN_USE = exitCodes[75].meaning

/** The paragraphs of the help below the summary. */
export function notesOf({ server, notes = [] }: Pick<Command, 'server' | 'notes'>): readonly string[] {
  return server === undefined ? notes : [`The server must be ${server}.`, ...notes]
}

/** Checks the types of a command: its `run` sees only the flags that it declares. */
export function defineCommand<const Flag extends keyof Options, const Required extends Flag = never>(
  command: Command<Flag, Required>,
): Command {
  return command as unknown as Command
}

/**
 * Parses the arguments of a command and runs it.
 *
 * @param family From `getFamily`.
 * @param args The words after the first word of the name; flags may stand before the second word.
 * @throws {UsageError} for arguments that it does not understand; also what the command throws.
 */
export async function runCommand(
  family: readonly [Command, ...Command[]],
  args: readonly string[],
  context: CommandContext,
): Promise<void> {
  const [first] = family
  const isAlone = verbOf(first) === undefined
  // The allowed flags depend on the second word, so a first pass, to find it, takes the flags of the whole family.
  const all = isAlone ? [] : family.flatMap(({ flags }) => flags)
  const [verb] = isAlone ? [] : parseCommandLine(args, {}, all).words
  if (!isAlone) parseVerb(firstWordOf(first.name), verbsOf(family), verb)
  const command = family.find((each) => verbOf(each) === verb) ?? first
  const environment = command.ignoresVariables ? {} : context.environment
  const { options, given, words } = parseCommandLine(args, environment, command.flags, command.passesOn)
  const operands = isAlone ? words : words.slice(1)
  checkComplete(command, operands, options)
  checkFiles(command, operands)
  await command.run({ options, given, operands }, context)
}

/** @throws {UsageError} that lists the forms of the command. */
function checkComplete(command: Command, words: readonly string[], options: Options) {
  const { name, operands, operandsMax = 1, requires } = command
  const isOptional = operands?.startsWith('[') ?? true
  const most = operands === undefined ? 0 : operandsMax
  const hasRequired = requires === undefined || options[requires] !== undefined
  if (words.length <= most && (isOptional || words.length > 0) && hasRequired) return
  if (name === 'serve') throw new UsageError(`Unknown command "${words.join(' ')}"; see connbook help`)
  throw new UsageError(`Write it as: ${formsOf(command, isOptional).join(', or: ')}`)
}

/** @throws {UsageError} for a file whose path a shell should have replaced, as in quotes. */
function checkFiles({ operands = '' }: Command, words: readonly string[]) {
  if (!/^\[?FILE\b/.test(operands)) return
  for (const word of words) {
    const advice = adviceForTilde(word)
    if (advice !== undefined)
      throw new UsageError(`Cannot use "${word}": no shell has replaced the "~" at its beginning; ${advice}`)
  }
}

function formsOf({ name, operands, otherOperand, requires }: Command, isOptional: boolean): string[] {
  const [flag] = describeFlags(requires === undefined ? [] : [requires])
  const needed = flag === undefined ? '' : `${flag.usage}, one of ${flag.choices.join(', ')}`
  return (isOptional ? ['', operands?.slice(1, -1)] : [operands, otherOperand])
    .filter((form) => form !== undefined)
    .map((form) => ['connbook', name, form, needed].filter((part) => part !== '').join(' '))
}

/** The commands whose names begin with a word. @throws {UsageError} when there are none. */
export function getFamily(commands: readonly Command[], word: string): [Command, ...Command[]] {
  const [first, ...more] = commands.filter(({ name }) => firstWordOf(name) === word)
  if (first !== undefined) return [first, ...more]
  throw unknownCommand(commands, word)
}

/** Commands by words that people try for them. */
const triedWords: ReadonlyMap<string, string> = new Map([
  ['list', 'ls'],
  ['find', 'ls'],
  ['show', 'get'],
  ['edit', 'set'],
  ['delete', 'rm'],
  ['connect', 'ssh'],
])

/** Names the command that the word stands for elsewhere, the chapter of that name, or the nearest command. */
export function unknownCommand(commands: readonly Command[], word: string): UsageError {
  const meant = triedWords.get(word)
  if (meant !== undefined) return new UsageError(`Unknown command "${word}"; did you mean ${meant}?`)
  const known = commands.map(({ name }) => firstWordOf(name))
  const advice =
    findChapter(word) === undefined
      ? adviceFor(word, known, 'see connbook help')
      : `the manual has a chapter: connbook help ${word}`
  return new UsageError(`Unknown command "${word}"; ${advice}`)
}

/**
 * For a line that begins with a flag.
 *
 * @throws {UsageError} when a command that takes flags follows: with the line in its right order, if it takes these.
 */
export function checkOrder(commands: readonly Command[], args: readonly string[]): void {
  const end = args.indexOf('--')
  const ordered = end === -1 ? args : args.slice(0, end)
  const at = ordered.findIndex((arg, i) => !arg.startsWith('-') && !takesValue(args[i - 1]))
  const family = commands.filter(({ name, flags }) => firstWordOf(name) === args[at] && flags.length > 0)
  if (family.length === 0) return
  const command = family.find(({ name }) => name.split(' ').every((word, i) => word === ordered[at + i]))
  const known = describeFlags(command?.flags ?? []).map(({ usage }) => firstWordOf(usage))
  const given = ordered.slice(0, at).filter((_, i) => !takesValue(args[i - 1]))
  const flags = given.map((arg) => arg.replace(/=.*/s, ''))
  // An unknown flag is the fault, wherever it stands.
  if (!flags.every((flag) => specEntries.some(([, spec]) => spec.flag === flag))) return
  if (command === undefined || !flags.every((flag) => known.includes(flag)))
    throw new UsageError(`Flags come after the command; see connbook help ${args[at]}`)
  const line = [...ordered.slice(at), ...args.slice(0, at), ...args.slice(ordered.length)]
  throw new UsageError(`Flags come after the command: connbook ${line.map(wordForShell).join(' ')}`)
}

/** Checks the second word of a name; `family` is the first. @throws {UsageError} when it is not one of `verbs`. */
export function parseVerb(family: string, verbs: readonly string[], word: string | undefined): string {
  const verb = verbs.find((known) => known === word)
  if (verb !== undefined) return verb
  const nearest = word === undefined ? undefined : findNearest(word, verbs)
  const advice = nearest === undefined ? `it takes ${verbs.join(', ')}` : `did you mean ${family} ${nearest}?`
  throw new UsageError(`Unknown command "${[family, word ?? ''].join(' ').trim()}"; ${advice}`)
}

export function verbsOf(family: readonly Command[]): string[] {
  return family.flatMap((command) => verbOf(command) ?? [])
}

/** The second word of the name; undefined when it has only one. */
export function verbOf({ name }: Command): string | undefined {
  return name.split(' ')[1]
}

/** A command's name, or the family that it belongs to. */
export function firstWordOf(name: string): string {
  return name.split(' ')[0] ?? name
}
