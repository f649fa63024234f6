import { type ExportFormatName, exportFormatNames } from '../exchange/export-formats.ts'
import { logLevels } from '../log.ts'
import type { ServerOptions } from '../service/server-options.ts'
import { type ImportMode, importModes } from '../store/import-plan.ts'
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
export interface Options extends ServerOptions {
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
export interface OptionSpec<Value> {
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

export const optionSpecs: { readonly [Name in keyof Options]: OptionSpec<Options[Name]> } = {
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

export const specEntries = Object.entries(optionSpecs) as [keyof Options, OptionSpec<unknown>][]

/** In the order of the table. */
export const optionNames: readonly (keyof Options)[] = specEntries.map(([name]) => name)

/** The flags that `serve` takes. */
export const serverFlags: readonly (keyof Options)[] = specEntries
  .filter(([, spec]) => !spec.isOfCommand)
  .map(([name]) => name)

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

/** The variable of the environment that stands for a flag; undefined when none does. */
export function variableOf(spec: OptionSpec<unknown>): string | undefined {
  if (spec.isOfCommand) return undefined
  return `CONNBOOK_${spec.flag.slice(2).toUpperCase().replaceAll('-', '_')}`
}
