import { UsageError } from '../errors.ts'
import type { Look } from './look.ts'
import { adviceFor, findNearest } from './nearest.ts'
import type { Options } from './options.ts'
import type { Print } from './output.ts'

/** What a person can type behind `connbook`; dispatch and help are made from it. */
export interface Command {
  /** Such as "check" or "user add". */
  readonly name: string
  /** What stands behind the name, such as "NAME"; nothing when not given. */
  readonly operands?: string
  /** What it does, as an imperative that begins small and ends without a full stop. */
  readonly summary: string
  /** Lines to paste, each with what it does. */
  readonly examples: readonly (readonly [line: string, effect: string])[]
  /** Paragraphs for what the summary leaves open. */
  readonly notes?: readonly string[]
  /** Must be those that `run` takes. */
  readonly flags: readonly (keyof Options)[]
  /** Those that mean something particular here. */
  readonly exitCodes?: Readonly<Record<number, string>>
  /**
   * @param args What stands behind the first word of the name, so that flags may stand before the second.
   * @throws {UsageError} for a command line that it does not understand.
   */
  run(args: readonly string[], environment: NodeJS.ProcessEnv, print: Print, look: Look): Promise<void>
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
 * The second word of a command of a family.
 *
 * @param family Such as "user".
 * @throws {UsageError} when it is none of the verbs.
 */
export function parseVerb<Verb extends string>(
  family: string,
  verbs: readonly Verb[],
  word: string | undefined,
): Verb {
  const verb = verbs.find((known) => known === word)
  if (verb !== undefined) return verb
  const nearest = word === undefined ? undefined : findNearest(word, verbs)
  const advice = nearest === undefined ? `it takes ${verbs.join(', ')}` : `did you mean ${family} ${nearest}?`
  throw new UsageError(`Unknown command "${[family, word ?? ''].join(' ').trim()}"; ${advice}`)
}

function firstWordOf(name: string): string {
  return name.split(' ')[0] ?? name
}
