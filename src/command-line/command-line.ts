import { UsageError } from '../errors.ts'
import { type OptionSpec, parseOption } from '../service/option-values.ts'
import { escapeHidden, hidePassword } from '../text.ts'
import { adviceFor, findNearest } from './nearest.ts'
import { type Options, optionSpecs, specEntries, variableOf } from './options.ts'

export interface CommandLine {
  readonly options: Options
  /** The text of each given flag; of a repeated one, the texts joined by commas. */
  readonly given: ReadonlyMap<string, string>
  /** Everything but flags and their values. */
  readonly words: readonly string[]
}

/**
 * Reads flags and environment: a flag beats its variable, and an empty variable counts as unset.
 *
 * @param endsAtWord Whether nothing after the first word is a flag.
 * @throws {UsageError} naming an unknown flag, or one with a missing or bad value.
 */
export function parseCommandLine(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  flags: readonly (keyof Options)[],
  endsAtWord = false,
): CommandLine {
  const { given, words } = splitArguments(args, flags, endsAtWord)
  const values: Partial<Record<keyof Options, unknown>> = {}
  for (const [name, spec] of specEntries) {
    // Variables of other commands are not checked.
    const variable = flags.includes(name) ? fromEnvironment(spec, environment) : undefined
    const { source, texts } = given.get(name) ?? variable ?? { source: spec.flag, texts: defaultOf(spec) }
    const absent = spec.placeholder === undefined ? false : undefined
    const parsed = texts.map((text) => parseValue(spec, source, text))
    values[name] = spec.isList ? parsed : parsed.length === 0 ? absent : parsed[0]
  }
  const options = values as unknown as Options
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
    throw new UsageError('Cannot serve HTTPS with only one of --tls-cert and --tls-key; give both or neither')
  }
  checkPublicUrl(options)
  if (options.listen !== undefined) checkAlone(options, given, environment)
  const texts = [...given.values()].map(({ source, texts }) => [source, texts.join(',')] as const)
  return { options, given: new Map(texts), words }
}

/** @throws {UsageError} if clients would be sent to paths that the server does not have. */
function checkPublicUrl({ publicUrl, basePath }: Options): void {
  if (publicUrl === undefined) return
  const path = new URL(publicUrl).pathname.replace(/\/$/, '')
  if (path === basePath) return
  throw new UsageError(
    `Cannot use --public-url "${publicUrl}": its path must be that of --base-path, which is "${basePath || '/'}"`,
  )
}

/** @throws {UsageError} for a flag or variable that contradicts --listen. */
function checkAlone(
  { tlsCert }: Options,
  given: ReadonlyMap<keyof Options, unknown>,
  environment: NodeJS.ProcessEnv,
): void {
  for (const name of ['port', 'host'] as const) {
    const variable = variableOf(optionSpecs[name]) ?? ''
    if (given.has(name) || environment[variable]) {
      const source = given.has(name) ? optionSpecs[name].flag : variable
      throw new UsageError(
        `Cannot listen on a Unix socket and by ${source} as well; give --listen or ${source}`,
      )
    }
  }
  if (tlsCert !== undefined) {
    throw new UsageError(
      'Cannot serve HTTPS on a Unix socket; leave --tls-cert and --tls-key to the proxy before it',
    )
  }
}

/** Where the values of an option come from. */
interface GivenValue {
  /** The flag or the variable. */
  readonly source: string
  readonly texts: readonly string[]
}

function defaultOf({ default: text }: OptionSpec): readonly string[] {
  return text === undefined ? [] : [text]
}

function splitArguments(args: readonly string[], flags: readonly (keyof Options)[], endsAtWord: boolean) {
  const given = new Map<keyof Options, GivenValue>()
  const words: string[] = []
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      words.push(...rest)
      break
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      if (endsAtWord) words.push(...rest.splice(0))
      continue
    }
    const equals = arg.indexOf('=')
    const flag = equals === -1 ? arg : arg.slice(0, equals)
    const [name, spec] =
      specEntries.find(([candidate, { flag: known }]) => known === flag && flags.includes(candidate)) ?? []
    if (name === undefined || spec === undefined) {
      const known = specEntries.filter(([each]) => flags.includes(each)).map(([, each]) => each.flag)
      throw new UsageError(`Unknown flag "${flag}"; ${adviceFor(flag, known, 'see connbook help')}`)
    }
    const before = given.get(name)?.texts
    if (before !== undefined && spec.isRepeatable !== true && spec.isList !== true)
      throw new UsageError(`The flag ${flag} is given twice; give it once`)
    const isSwitch = spec.placeholder === undefined
    const text = equals !== -1 ? arg.slice(equals + 1) : isSwitch ? 'true' : rest.shift()
    if (text === undefined || (equals === -1 && text.startsWith('--')))
      throw new UsageError(`The flag ${flag} needs a value: ${flag} ${spec.placeholder}`)
    const texts = before === undefined ? [text] : spec.isList ? [...before, text] : [`${before[0]},${text}`]
    given.set(name, { source: flag, texts })
  }
  return { given, words }
}

function fromEnvironment(spec: OptionSpec, environment: NodeJS.ProcessEnv): GivenValue | undefined {
  for (const variable of [variableOf(spec), spec.lastVariable]) {
    const text = variable === undefined ? undefined : environment[variable]
    if (variable !== undefined && text !== undefined && text !== '')
      return { source: variable, texts: [text] }
  }
  return undefined
}

function parseValue(spec: OptionSpec, source: string, text: string): unknown {
  if (text === '') throw new UsageError(`Cannot use ${source} "": it is empty; give a value, or leave it out`)
  // Node decodes the environment; U+FFFD stands for bytes that were not UTF-8.
  if (text.includes('\ufffd')) throw new UsageError(`Cannot use ${source} "${text}": it is not UTF-8`)
  try {
    return parseOption(spec, text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const choices = spec.choices ?? (spec.placeholder === undefined ? ['true', 'false'] : [])
    const nearest = findNearest(text, choices)
    const advice = nearest === undefined ? '' : `; did you mean ${nearest}?`
    throw new UsageError(
      `Cannot use ${source} "${escapeHidden(hidePassword(text))}": it must be ${error.message}${advice}`,
    )
  }
}
