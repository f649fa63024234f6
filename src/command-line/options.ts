import { exportFormatNames } from '../exchange/export-formats.ts'
import { extraColumns, separatorWords } from '../exchange/import-options.ts'
import { importFormatNames } from '../exchange/import-reader.ts'
import { inputEncodings } from '../exchange/import-text.ts'
import { clusterFlags } from '../service/cluster-options.ts'
import { type OptionSpec, type ParsedOptions, parsePath } from '../service/option-values.ts'
import { serverOptionSpecs } from '../service/server-options.ts'
import { importModes } from '../store/authorship.ts'
import { clientOptionSpecs } from './client-options.ts'

const importable: readonly string[] = importFormatNames
const onlyExported = exportFormatNames.filter((name) => !importable.includes(name))

const commandOptionSpecs = {
  readOnly: {
    flag: '--read-only',
    help: 'the account can read, but cannot change records',
  },
  readWrite: {
    flag: '--read-write',
    help: 'the account can read and change records',
  },
  admin: {
    flag: '--admin',
    help: 'the account can also manage accounts, over HTTP',
  },
  grant: {
    flag: '--grant',
    placeholder: 'GRANT',
    help: "only these records: read or write, or one with filters, 'write?prefix=a/'; may be repeated",
    isList: true,
  },
  noGrants: {
    flag: '--no-grants',
    help: 'the account sees all records again, and changes what its right allows',
  },
  ifMissing: {
    flag: '--if-missing',
    help: 'an account that exists already is not an error, and stays as it is',
  },
  ifPresent: {
    flag: '--if-present',
    help: 'an account that does not exist is not an error',
  },
  secretStdin: {
    flag: '--secret-stdin',
    help: 'take the secret from standard input, instead of making one',
  },
  /** Undefined: by the name of the file. */
  format: {
    flag: '--format',
    placeholder: 'FORMAT',
    help: `${importFormatNames.join(', ')}; export also writes ${onlyExported.join(', ')}`,
    choices: exportFormatNames,
  },
  output: {
    flag: '--output',
    placeholder: 'FILE',
    help: 'file to write; it is replaced as a whole, or not at all',
    otherwise: 'standard output',
    parse: parsePath,
  },
  follow: {
    flag: '--follow',
    help: 'go on, and write the file again within a second of a change',
  },
  run: {
    flag: '--run',
    placeholder: 'COMMAND',
    help: 'with --follow: give it to the shell after each write',
    parse: parseShellCommand,
  },
  skip: {
    flag: '--skip',
    help: 'leave out what cannot be exported or imported, and name it',
  },
  user: {
    flag: '--user',
    placeholder: 'NAME',
    help: 'username of the hosts of an SSH configuration that have none',
  },
  encoding: {
    flag: '--encoding',
    placeholder: 'ENCODING',
    help: 'of a file that is not UTF-8 or UTF-16: windows-1252, as Excel writes',
    choices: inputEncodings,
  },
  separator: {
    flag: '--separator',
    placeholder: 'CHARACTER',
    help: 'what separates the columns of CSV: , ; | or tab',
    otherwise: 'found from the header',
    choices: separatorWords,
  },
  map: {
    flag: '--map',
    placeholder: 'FIELD=COLUMN',
    help: 'the column of CSV for a field, or for label.KEY; may be repeated',
    isList: true,
  },
  extra: {
    flag: '--extra',
    placeholder: extraColumns.join('|'),
    help: 'keep other columns of CSV, or variables of Ansible, as labels, or leave them out',
    choices: extraColumns,
  },
  only: {
    flag: '--only',
    placeholder: 'COLUMN=VALUE',
    help: 'only rows of CSV with this value; may be repeated',
    isList: true,
  },
  default: {
    flag: '--default',
    placeholder: 'FIELD=VALUE',
    help: 'a value for rows of CSV without one, or the username for ansible and pg-service; may be repeated',
    isList: true,
  },
  mode: {
    flag: '--mode',
    placeholder: importModes.join('|'),
    help: 'replace also removes records that are not in the file',
    default: 'merge',
    choices: importModes,
  },
  dryRun: {
    flag: '--dry-run',
    help: 'show what would change, and change nothing',
  },
  withHistory: {
    flag: '--with-history',
    help: 'take along the history of the records',
  },
  live: {
    flag: '--live',
    help: 'ask only whether the process is alive (/healthz), not whether it is ready (/readyz)',
  },
  /** `connbook systemd` prints this unit instead of that of the service. */
  socket: {
    flag: '--socket',
    help: 'print the unit of a socket: systemd listens, and starts the server at the first connection',
  },
  sbom: {
    flag: '--sbom',
    help: 'print the bill of materials: every part inside, as CycloneDX',
  },
  write: {
    flag: '--write',
    placeholder: 'FOLDER',
    help: 'write all pages as files, for those who make packages',
    parse: parsePath,
  },
  yes: {
    flag: '--yes',
    help: 'do not ask',
  },
} satisfies Record<string, OptionSpec>

/** Everything that can be set: of the server, then of the commands that name it. */
export const optionSpecs = { ...serverOptionSpecs, ...commandOptionSpecs, ...clientOptionSpecs }

/** Everything that can be set, parsed. */
export type Options = ParsedOptions<typeof optionSpecs>

export const specEntries = Object.entries(optionSpecs) as [keyof Options, OptionSpec][]

/** In the order of the table. */
export const optionNames: readonly (keyof Options)[] = specEntries.map(([name]) => name)

/** The flags that say where records and accounts are kept. */
export const placeFlags = ['data', ...clusterFlags] as const satisfies readonly (keyof Options)[]

export type PlaceFlag = (typeof placeFlags)[number]

/** The flags that `serve` takes. */
export const serverFlags = Object.keys(serverOptionSpecs) as readonly (keyof Options)[]

function parseShellCommand(text: string): string {
  if (text.trim() !== '') return text
  throw new RangeError('a command')
}

/** Whether the word after this one is its value. */
export function takesValue(word: string | undefined): boolean {
  return specEntries.some(([, { flag, placeholder }]) => flag === word && placeholder !== undefined)
}

/** What the help shows of a flag. */
export interface FlagDescription {
  readonly name: keyof Options
  /** As it is typed: the flag, and what stands for its value. */
  readonly usage: string
  readonly help: string
  /** The words that can be its value, when they are few. */
  readonly choices: readonly string[]
  /** Its variables; the first that is set counts. */
  readonly variables: readonly string[]
  /** Whether it may be given several times. */
  readonly isList: boolean
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
      isList: spec.isList === true || spec.isRepeatable === true,
      variables: [variableOf(spec), spec.lastVariable].filter((variable) => variable !== undefined),
      fallback: spec.default ?? spec.otherwise,
    }))
}

const serverSpecs: ReadonlySet<OptionSpec> = new Set(Object.values(serverOptionSpecs))

/** The variable of the environment that stands for a flag of the server; other flags have none. */
export function variableOf(spec: OptionSpec): string | undefined {
  if (!serverSpecs.has(spec)) return undefined
  return `CONNBOOK_${spec.flag.slice(2).toUpperCase().replaceAll('-', '_')}`
}
