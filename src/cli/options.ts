import { UsageError } from '../errors.ts'
import { type ExportFormatName, exportFormatNames } from '../exchange/export-formats.ts'
import { type LogFormat, type LogLevel, logLevels } from '../log.ts'
import type { Network } from '../server/proxy-trust.ts'
import { type ImportMode, importModes } from '../store/import-plan.ts'
import { adviceFor, findNearest } from './nearest.ts'
import {
  parseBasePath,
  parseChoice,
  parseDuration,
  parseHost,
  parseListen,
  parseNetworks,
  parsePort,
  parseSwitch,
} from './option-values.ts'

/** Everything that can be set, parsed. */
export interface Options {
  readonly port: number
  /** Undefined: every address, IPv6 and IPv4. */
  readonly host: string | undefined
  /** Path of a Unix socket to listen on instead. */
  readonly listen: string | undefined
  readonly data: string
  /** Empty, or `/like/this`. */
  readonly basePath: string
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** Undefined: no proxy is believed. */
  readonly trustProxy: readonly Network[] | undefined
  readonly sessionTtlSeconds: number
  readonly tokenTtlSeconds: number
  /** Undefined: text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat | undefined
  readonly logLevel: LogLevel
  readonly accessLog: boolean
  readonly metricsPublic: boolean
  readonly shutdownTimeoutSeconds: number
  /** Only where an account is added. */
  readonly readOnly: boolean
  /** Only where records are exported or imported; undefined: by the name of the file. */
  readonly format: ExportFormatName | undefined
  /** Only where records are exported. */
  readonly skip: boolean
  /** Only where records are imported. */
  readonly mode: ImportMode
  /** Only where records are imported. */
  readonly dryRun: boolean
  /** Only where the health of a server is checked. */
  readonly live: boolean
  /** Only where units for systemd are printed: the one of a socket instead of that of the service. */
  readonly socket: boolean
}

/** One line of the table from which flags, environment, defaults and help are made. */
interface OptionSpec<Value> {
  readonly flag: string
  /** What stands for the value in the help; undefined for a switch. */
  readonly placeholder?: string
  readonly help: string
  /** The default as one would type it; undefined when there is none. */
  readonly default?: string
  /** What happens when there is no default and nothing is given. */
  readonly otherwise?: string
  /** The words that can be its value, when they are few. */
  readonly choices?: readonly string[]
  /** Whether the flag may stand there more than once; its values come with commas between them. */
  readonly isRepeatable?: boolean
  /** Whether it belongs to a command that names it, and not to the server; then it has no variable but a `lastVariable`. */
  readonly isOfCommand?: boolean
  /** Another variable of the environment that is looked at last. */
  readonly lastVariable?: string
  /** Throws a RangeError that ends the sentence "…, because it must be". */
  parse(text: string): Value
}

const logFormats = ['text', 'json'] as const

const optionSpecs: { readonly [Name in keyof Options]: OptionSpec<Options[Name]> } = {
  port: {
    flag: '--port',
    placeholder: 'PORT',
    help: 'port to listen on; 0 takes a free one',
    default: '8080',
    lastVariable: 'PORT',
    parse: parsePort,
  },
  host: {
    flag: '--host',
    placeholder: 'ADDRESS',
    help: 'address to listen on',
    otherwise: 'every address, IPv6 and IPv4',
    parse: parseHost,
  },
  listen: {
    flag: '--listen',
    placeholder: 'unix:PATH',
    help: 'Unix socket to listen on, instead of an address',
    parse: parseListen,
  },
  data: {
    flag: '--data',
    placeholder: 'FOLDER',
    help: 'folder that keeps everything, made if missing',
    default: './data',
    parse: (text) => text,
  },
  basePath: {
    flag: '--base-path',
    placeholder: 'PATH',
    help: 'path before every path, behind a proxy',
    default: '/',
    parse: parseBasePath,
  },
  tlsCert: {
    flag: '--tls-cert',
    placeholder: 'FILE',
    help: 'certificate chain (PEM), for HTTPS; read again at SIGHUP',
    parse: (text) => text,
  },
  tlsKey: {
    flag: '--tls-key',
    placeholder: 'FILE',
    help: 'private key (PEM) of the certificate, closed to others (0600)',
    parse: (text) => text,
  },
  trustProxy: {
    flag: '--trust-proxy',
    placeholder: 'ADDRESS/BITS',
    help: 'proxy whose X-Forwarded-For and -Proto count; may be repeated',
    isRepeatable: true,
    parse: parseNetworks,
  },
  sessionTtlSeconds: {
    flag: '--session-ttl',
    placeholder: 'TIME',
    help: 'how long a login lasts',
    default: '12h',
    parse: parseDuration,
  },
  tokenTtlSeconds: {
    flag: '--token-ttl',
    placeholder: 'TIME',
    help: 'how long an access token lasts',
    default: '3600s',
    parse: parseDuration,
  },
  logFormat: {
    flag: '--log-format',
    placeholder: 'text|json',
    help: 'form of the log',
    otherwise: 'text on a terminal, else json',
    choices: logFormats,
    parse: (text) => parseChoice(text, logFormats),
  },
  logLevel: {
    flag: '--log-level',
    placeholder: 'LEVEL',
    help: 'least to log: debug, info, warn, error',
    default: 'info',
    choices: logLevels,
    parse: (text) => parseChoice(text, logLevels),
  },
  accessLog: { flag: '--access-log', help: 'log every request', parse: parseSwitch },
  metricsPublic: {
    flag: '--metrics-public',
    help: 'show /metrics to everybody, without a credential',
    parse: parseSwitch,
  },
  shutdownTimeoutSeconds: {
    flag: '--shutdown-timeout',
    placeholder: 'TIME',
    help: 'how long to finish requests when asked to stop',
    default: '10s',
    parse: parseDuration,
  },
  readOnly: {
    flag: '--read-only',
    help: 'the account can read, and change no record',
    isOfCommand: true,
    parse: parseSwitch,
  },
  format: {
    flag: '--format',
    placeholder: 'FORMAT',
    help: exportFormatNames.join(', '),
    isOfCommand: true,
    choices: exportFormatNames,
    parse: (text) => parseChoice(text, exportFormatNames),
  },
  skip: {
    flag: '--skip',
    help: 'leave out, and name, records that the format cannot express',
    isOfCommand: true,
    parse: parseSwitch,
  },
  mode: {
    flag: '--mode',
    placeholder: importModes.join('|'),
    help: 'replace also removes what is not in the file',
    default: 'merge',
    isOfCommand: true,
    choices: importModes,
    parse: (text) => parseChoice(text, importModes),
  },
  dryRun: {
    flag: '--dry-run',
    help: 'tell what would change, and change nothing',
    isOfCommand: true,
    parse: parseSwitch,
  },
  live: {
    flag: '--live',
    help: 'ask only whether the process is alive (/healthz), not whether it is ready (/readyz)',
    isOfCommand: true,
    parse: parseSwitch,
  },
  socket: {
    flag: '--socket',
    help: 'the unit of a socket, which starts the server when somebody connects',
    isOfCommand: true,
    parse: parseSwitch,
  },
}

const specEntries = Object.entries(optionSpecs) as [keyof Options, OptionSpec<unknown>][]

/** In the order of the table. */
export const optionNames: readonly (keyof Options)[] = specEntries.map(([name]) => name)

/** The flags that `serve` takes. */
export const serverFlags: readonly (keyof Options)[] = specEntries
  .filter(([, spec]) => !spec.isOfCommand)
  .map(([name]) => name)

export interface CommandLine {
  readonly options: Options
  /** The flags that are given, each with its text; a repeated one has commas between its texts. */
  readonly given: ReadonlyMap<string, string>
  /** What is neither a flag nor a flag's value. */
  readonly words: readonly string[]
}

/**
 * Reads flags and environment; a flag beats the environment, an empty variable is no variable.
 *
 * @param flags The flags that the command takes; those of the server when not given.
 * @throws {UsageError} for an unknown flag, a missing value or a bad one, naming it.
 */
export function parseCommandLine(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  flags: readonly (keyof Options)[] = serverFlags,
): CommandLine {
  const { given, words } = splitArguments(args, flags)
  const values: Partial<Record<keyof Options, unknown>> = {}
  for (const [name, spec] of specEntries) {
    // A variable for another command may hold anything.
    const variable = flags.includes(name) ? fromEnvironment(spec, environment) : undefined
    const [source, text] = given.get(name) ?? variable ?? [spec.flag, spec.default]
    values[name] = text === undefined ? absentValue(spec) : parseValue(spec, source, text)
  }
  const options = values as unknown as Options
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
    throw new UsageError('Cannot serve HTTPS with only one of --tls-cert and --tls-key; give both or neither')
  }
  if (options.listen !== undefined) checkAlone(options, given, environment)
  const texts = Array.from(given.values())
  return { options, given: new Map(texts), words }
}

/** @throws {UsageError} for what says nothing beside a Unix socket, or speaks against it. */
function checkAlone(
  { tlsCert }: Options,
  given: ReadonlyMap<keyof Options, unknown>,
  environment: NodeJS.ProcessEnv,
): void {
  for (const spec of [optionSpecs.port, optionSpecs.host]) {
    const variable = variableOf(spec) ?? ''
    const isGiven = [...given.keys()].some((name) => optionSpecs[name].flag === spec.flag)
    if (isGiven || environment[variable]) {
      const source = isGiven ? spec.flag : variable
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

/** What the help tells of a flag. */
export interface FlagDescription {
  readonly name: keyof Options
  /** As it is typed: the flag, and what stands for its value. */
  readonly usage: string
  readonly help: string
  /** The words that can be its value, when they are few. */
  readonly choices: readonly string[]
  /** Those that it beats, in their order. */
  readonly variables: readonly string[]
  /** What holds when it is not given. */
  readonly fallback: string | undefined
}

/** Describes flags, in the order of the table. */
export function describeFlags(flags: readonly (keyof Options)[]): FlagDescription[] {
  return specEntries
    .filter(([name]) => flags.includes(name))
    .map(([name, spec]) => ({
      name,
      usage: spec.placeholder === undefined ? spec.flag : `${spec.flag} ${spec.placeholder}`,
      help: spec.help,
      choices: spec.choices ?? [],
      variables: [variableOf(spec), spec.lastVariable].filter((variable) => variable !== undefined),
      fallback: spec.default ?? spec.otherwise,
    }))
}

function splitArguments(args: readonly string[], flags: readonly (keyof Options)[]) {
  const given = new Map<keyof Options, [source: string, text: string]>()
  const words: string[] = []
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      words.push(...rest)
      break
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
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
    const before = given.get(name)?.[1]
    if (before !== undefined && spec.isRepeatable !== true)
      throw new UsageError(`The flag ${flag} is given twice; give it once`)
    const isSwitch = spec.placeholder === undefined
    const text = equals !== -1 ? arg.slice(equals + 1) : isSwitch ? 'true' : rest.shift()
    if (text === undefined || (equals === -1 && text.startsWith('--')))
      throw new UsageError(`The flag ${flag} needs a value: ${flag} ${spec.placeholder}`)
    given.set(name, [flag, before === undefined ? text : `${before},${text}`])
  }
  return { given, words }
}

function fromEnvironment(
  spec: OptionSpec<unknown>,
  environment: NodeJS.ProcessEnv,
): [string, string] | undefined {
  for (const variable of [variableOf(spec), spec.lastVariable]) {
    const text = variable === undefined ? undefined : environment[variable]
    if (variable !== undefined && text !== undefined && text !== '') return [variable, text]
  }
  return undefined
}

function variableOf(spec: OptionSpec<unknown>): string | undefined {
  if (spec.isOfCommand) return undefined
  return `CONNBOOK_${spec.flag.slice(2).toUpperCase().replaceAll('-', '_')}`
}

function absentValue(spec: OptionSpec<unknown>): unknown {
  return spec.placeholder === undefined ? false : undefined
}

function parseValue(spec: OptionSpec<unknown>, source: string, text: string): unknown {
  try {
    if (text === '') throw new RangeError('something')
    return spec.parse(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const nearest = findNearest(text, choicesOf(spec))
    const advice = nearest === undefined ? '' : `; did you mean ${nearest}?`
    throw new UsageError(`Cannot use ${source} "${text}": it must be ${error.message}${advice}`)
  }
}

function choicesOf(spec: OptionSpec<unknown>): readonly string[] {
  return spec.choices ?? (spec.placeholder === undefined ? ['true', 'false'] : [])
}
